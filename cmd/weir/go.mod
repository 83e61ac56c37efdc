module github.com/weirgo/weir/cmd/weir

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/weirgo/weir v0.0.0
	pgregory.net/rapid v1.3.0
)

replace github.com/weirgo/weir => ../..
