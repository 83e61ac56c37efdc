package kind

import "github.com/weirgo/weir/algorithm"

func slidingLog() Kind {
	return Kind{
		Name: algorithm.KindSlidingLog, File: "slidinglog", Limit: window, Request: count,
		Charge: chargeWindow, // a refund rewrites the list: see the compare-and-set
	}
}
