module github.com/weirgo/weir/adapter/connect

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/weirgo/weir v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
	google.golang.org/protobuf v1.36.11
)

require github.com/goccy/go-yaml v1.19.2 // indirect

replace github.com/weirgo/weir => ../..
