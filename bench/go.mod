module github.com/weirgo/weir/bench

go 1.26.0

require (
	github.com/sethvargo/go-limiter v0.7.1
	github.com/weirgo/weir v0.0.0
	golang.org/x/time v0.16.0
)

replace github.com/weirgo/weir => ..
