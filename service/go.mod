module github.com/weirgo/weir/service

go 1.26.0

require (
	github.com/benbjohnson/clock v1.3.5
	github.com/weirgo/weir v0.0.0
)

require github.com/goccy/go-yaml v1.19.2 // indirect

replace github.com/weirgo/weir => ..
