module github.com/memoryroom/scribe/examples/conformance

go 1.26.5

require github.com/memoryroom/scribe v0.0.0

require (
	golang.org/x/text v0.44.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/memoryroom/scribe => ../..
