module github.com/weirgo/weir

go 1.26

require (
	github.com/benbjohnson/clock v1.3.5 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
