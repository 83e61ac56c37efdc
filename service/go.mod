module github.com/weirgo/weir/service

go 1.26.0

require (
	github.com/benbjohnson/clock v1.3.5
	github.com/goccy/go-yaml v1.19.2
	github.com/weirgo/weir v0.0.0
	github.com/weirgo/weir/api v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace (
	github.com/weirgo/weir => ..
	github.com/weirgo/weir/api => ../api
)
