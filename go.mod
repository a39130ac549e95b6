module github.com/memoryroom/scribe

// go 1.26.5 is the first 1.26 release whose os.Root closes CVE-2026-39822 (a
// symbolic link followed by a trailing slash left the root). 1.25.12 has the fix
// too, but a "go 1.25.12" line would also accept 1.26.0 to 1.26.4, which do not.
go 1.26.5

require (
	github.com/google/go-cmp v0.7.0
	golang.org/x/text v0.44.0
	gopkg.in/yaml.v3 v3.0.1
	pgregory.net/rapid v1.3.0
)
