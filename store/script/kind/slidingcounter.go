package kind

import "github.com/weirgo/weir/algorithm"

func slidingCounter() Kind {
	return Kind{
		Name: algorithm.KindSlidingCounter, File: "slidingcounter", Limit: window, Request: count,
		Charge: chargeWindow, Refund: refundWindow,
	}
}
