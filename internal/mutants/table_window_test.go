package mutants

// Fixed window and sliding counter.
var windowMutants = []mutant{
	{
		name: "fixed-window/effective instant ignored", file: "algorithm/fixedwindow.go",
		old: `e = max(e, s.w0)`, new: `_ = s.w0`,
		pkg: "algorithm", killer: "TestLaws/fixed-window/law/L1-admitted-at-retry-after",
	},
	{
		name: "fixed-window/an older window reopens", file: "algorithm/fixedwindow.go",
		old: "\t\te = max(e, s.w0)\n\t}\n\tstart := f.start(e)", new: "\t}\n\tstart := f.start(e)\n\tif s.w0 > start {\n\t\ts = new(State)\n\t}",
		pkg: "algorithm", killer: "TestLaws/fixed-window/law/M1-remaining-never-falls-with-time",
	},
	{
		name: "fixed-window/less for at most", file: "algorithm/fixedwindow.go",
		old: `count > f.limit-r.Cost`, new: `count >= f.limit-r.Cost`,
		pkg: "algorithm", killer: "TestLaws/fixed-window/law/S6-fresh-admits-the-capacity",
	},
	{
		name: "fixed-window/retry from the effective instant", file: "algorithm/fixedwindow.go",
		old: `o.RetryAfter = micros(end - int64(now))`, new: `o.RetryAfter = micros(end - e)`,
		pkg: "algorithm", killer: "TestLaws/fixed-window/law/L1-admitted-at-retry-after",
	},
	{
		name: "fixed-window/reset 0 on denial", file: "algorithm/fixedwindow.go",
		old: "\tif count > 0 {\n", new: "\tif o.Allowed && count > 0 {\n",
		pkg: "algorithm", killer: "TestLaws/fixed-window/law/M7-denial-changes-nothing",
	},
	{
		name: "fixed-window/a denial is counted", file: "algorithm/fixedwindow.go",
		old: "o.RetryAfter = micros(end - int64(now))\n", new: "o.RetryAfter = micros(end - int64(now))\n\t\t*s = State{w0: start, w1: count + 1, shape: twoWords}\n",
		pkg: "algorithm", killer: "TestLaws/fixed-window/law/M7-denial-changes-nothing",
	},
	{
		name: "fixed-window/remaining of before the decision", file: "algorithm/fixedwindow.go",
		old: `f.left(count, o)`, new: `f.left(max(0, count-r.Cost), o)`,
		pkg: "algorithm", killer: "TestLaws/fixed-window/law/E3-remaining-is-exact",
	},
	{
		name: "window/negative remaining after lowering", file: "algorithm/window.go",
		old: `if used <= w.limit {`, new: `if true {`,
		pkg: "algorithm", killer: "TestLawsAfterChange/fixed-window/law/S8-outcome-is-well-formed",
	},
	{
		name: "fixed-window/a longer window lowers the start", file: "algorithm/fixedwindow.go",
		old: `start, count = s.w0, s.w1`, new: `count = s.w1`,
		pkg: "algorithm", killer: "TestLawK7AlternatingLimitsGrantNothingMore/fixed-window",
	},
	{
		name: "fixed-window/fresh on a change of window", file: "algorithm/fixedwindow.go",
		old: `s.w0 >= start {`, new: `s.w0 == start {`,
		pkg: "algorithm", killer: "TestLawK3ChangeKeepsWhatWasUsed/fixed-window",
	},

	{
		name: "sliding-counter/estimate rounded down", file: "algorithm/slidingcounter.go",
		old: `return exact.Up(exact.MulDiv(prev, left, c.period))`, new: "q, _ := exact.MulDiv(prev, left, c.period)\n\treturn q",
		pkg: "algorithm", killer: "TestLawE6CounterErrorIsBounded", about: []string{"sliding-counter"},
	},
	{
		name: "sliding-counter/effective instant ignored", file: "algorithm/slidingcounter.go",
		old: "\t\te = max(e, s.w0)\n", new: "\t\t_ = s.w0\n",
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/L1-admitted-at-retry-after",
	},
	{
		name: "sliding-counter/an older window reopens", file: "algorithm/slidingcounter.go",
		old: "\tcase s.w0 >= start:\n", new: "\tcase s.w0 > start:\n\t\treturn start, 0, 0\n\tcase s.w0 == start:\n",
		pkg: "algorithm", killer: "TestLawK3ChangeKeepsWhatWasUsed/sliding-counter",
	},
	{
		name: "sliding-counter/a longer window lowers the start", file: "algorithm/slidingcounter.go",
		old: `return s.w0, s.w1, s.Word(2)`, new: `return start, s.w1, s.Word(2)`,
		pkg: "algorithm", killer: "TestLawK7AlternatingLimitsGrantNothingMore/sliding-counter",
	},
	{
		name: "sliding-counter/the window before is forgotten", file: "algorithm/slidingcounter.go",
		old: `case s.w0 >= start-c.period:`, new: `case s.w0 > start-c.period:`,
		pkg: "algorithm", killer: "TestLawS1to4StayUnderTheCurve/sliding-counter",
	},
	{
		name: "sliding-counter/fresh after two windows from now", file: "algorithm/slidingcounter.go",
		old: `micros(next + c.period - int64(now))`, new: `micros(2 * c.period)`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/L7-reset-instant-is-steady",
	},
	{
		name: "sliding-counter/fresh when the window ends", file: "algorithm/slidingcounter.go",
		old: `micros(next + c.period - int64(now))`, new: `micros(next - int64(now))`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/L6-fresh-at-reset-after",
	},
	{
		name: "sliding-counter/always fresh after two windows", file: "algorithm/slidingcounter.go",
		old: `o.ResetAfter = micros(next - int64(now))`, new: `o.ResetAfter = micros(next + c.period - int64(now))`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/L6-not-fresh-before-reset-after",
	},
	{
		name: "sliding-counter/less for at most", file: "algorithm/slidingcounter.go",
		old: `used > c.limit-r.Cost`, new: `used >= c.limit-r.Cost`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/S6-fresh-admits-the-capacity",
	},
	{
		name: "sliding-counter/retry 1 µs early", file: "algorithm/slidingcounter.go",
		old: `return c.period - q`, new: `return c.period - q - 1`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/L1-admitted-at-retry-after",
	},
	{
		name: "sliding-counter/retry when the window ends", file: "algorithm/slidingcounter.go",
		old: `pos < c.period {`, new: `pos < 0 {`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/L2-denied-until-retry-after",
	},
	{
		name: "sliding-counter/remaining without the window before", file: "algorithm/slidingcounter.go",
		old: `c.left(used, o)`, new: `c.left(cur, o)`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/E3-remaining-is-exact",
	},
	{
		name: "fixed-window/refund of another window", file: "algorithm/fixedwindow.go",
		old: ` || f.start(at) != start`, new: ``,
		pkg: "algorithm", killer: "TestOracleRunsReachTheirGoals/fixed-window",
	},
	{
		name: "sliding-counter/refund of the window before is lost", file: "algorithm/slidingcounter.go",
		old: `case at == start-c.period && prev > 0:`, new: `case false:`,
		pkg: "algorithm", killer: "TestLaws/sliding-counter/law/I4-refund-undoes-its-take",
	},
}
