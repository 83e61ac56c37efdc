package kind

import "github.com/weirgo/weir/algorithm"

func sessionWindow() Kind {
	return Kind{Name: algorithm.KindSessionWindow, File: "sessionwindow", Limit: window, Request: count}
}
