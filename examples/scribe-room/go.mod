module github.com/memoryroom/scribe/examples/scribe-room

go 1.26.5

replace github.com/memoryroom/scribe => ../..

require (
	github.com/aymanbagabas/go-udiff v0.4.2
	github.com/jedib0t/go-pretty/v6 v6.8.3
	github.com/memoryroom/scribe v0.0.0-00010101000000-000000000000
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/cobra v1.10.2
	golang.org/x/term v0.48.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
