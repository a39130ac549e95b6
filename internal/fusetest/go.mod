module github.com/memoryroom/scribe/internal/fusetest

go 1.26.5

require (
	github.com/hanwen/go-fuse/v2 v2.12.1
	github.com/memoryroom/scribe v0.0.0
	golang.org/x/text v0.44.0
)

require golang.org/x/sys v0.28.0 // indirect

replace github.com/memoryroom/scribe => ../..
