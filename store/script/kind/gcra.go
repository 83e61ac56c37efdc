package kind

import "github.com/weirgo/weir/algorithm"

func gcra() Kind {
	return Kind{
		Name: algorithm.KindGCRA, File: "gcra", Limit: burstTime, Request: costTime,
		Charge: chargeTime, Refund: refundTime,
	}
}
