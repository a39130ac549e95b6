module github.com/memoryroom/scribe/examples/pathgate

go 1.26.5

require (
	github.com/cyphar/filepath-securejoin v0.7.0
	github.com/go-git/go-git/v6 v6.0.0-beta.1
	github.com/memoryroom/scribe v0.0.0
)

require (
	github.com/ProtonMail/go-crypto v1.5.2 // indirect
	github.com/cloudflare/circl v1.6.3 // indirect
	github.com/emirpasic/gods v1.18.1 // indirect
	github.com/go-git/gcfg/v2 v2.0.2 // indirect
	github.com/go-git/go-billy/v6 v6.0.0-beta.1 // indirect
	github.com/pjbgf/sha1cd v0.7.0 // indirect
	github.com/sergi/go-diff v1.4.0 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/memoryroom/scribe => ../..
