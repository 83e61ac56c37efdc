package kind

import "github.com/weirgo/weir/algorithm"

func fixedWindow() Kind {
	return Kind{
		Name: algorithm.KindFixedWindow, File: "fixedwindow", Limit: window, Request: count,
		Charge: chargeWindow, Refund: refundWindow,
	}
}
