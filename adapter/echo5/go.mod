module github.com/weirgo/weir/adapter/echo5

go 1.26.0

require github.com/weirgo/weir v0.0.0

require (
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/labstack/echo/v5 v5.4.4
)

replace github.com/weirgo/weir => ../..
