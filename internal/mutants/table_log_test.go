package mutants

// The sliding log and its memory.
var logMutants = []mutant{
	{
		name: "sliding-log/an entry one window old counts", file: "algorithm/slidinglog.go",
		old: `t.after(e - l.period)`, new: `t.after(e - l.period - 1)`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/L1-admitted-at-retry-after",
	},
	{
		name: "sliding-log/an entry leaves 1 µs early", file: "algorithm/slidinglog.go",
		old: `t.after(e - l.period)`, new: `t.after(e - l.period + 1)`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/L2-denied-until-retry-after",
	},
	{
		name: "sliding-log/effective instant ignored", file: "algorithm/slidinglog.go",
		old: `e = max(e, t.last())`, new: `_ = t.last()`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/C2-clock-going-back-gains-nothing",
	},
	{
		name: "sliding-log/recorded at the clock's reading", file: "algorithm/slidinglog.go",
		old: `*s = t.append(e, r.Cost)`, new: `*s = t.append(int64(now), r.Cost)`,
		pkg: "algorithm", killer: "TestLawC3StateNeverMovesBack/sliding-log",
	},
	{
		name: "sliding-log/less for at most", file: "algorithm/slidinglog.go",
		old: `used > l.limit-r.Cost`, new: `used >= l.limit-r.Cost`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/S6-fresh-admits-the-capacity",
	},
	{
		name: "sliding-log/waits for one unit too few", file: "algorithm/slidinglog.go",
		old: `t.holding(excess)`, new: `t.holding(max(1, excess-1))`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/L1-admitted-at-retry-after",
	},
	{
		name: "sliding-log/fresh one window from now", file: "algorithm/slidinglog.go",
		old: `micros(last + l.period - int64(now))`, new: `micros(0*last + e + l.period - int64(now))`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/L7-reset-instant-is-steady",
	},
	{
		name: "log/appends into space that is taken", file: "algorithm/log.go",
		old: `!t.fits(cost) || !b.taken.CompareAndSwap(t.end, t.end+1)`, new: `!t.fits(cost)`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/P2-states-are-values",
	},
	{
		name: "log/claims the place behind its entries too late", file: "algorithm/log.go",
		old: `!b.taken.CompareAndSwap(t.end, t.end+1)`, new: `b.taken.Swap(t.end+1) > t.end`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/P2-states-are-values",
	},
	{
		name: "log/entries of one instant count once", file: "algorithm/log.go",
		old: `all[last].cost += cost`, new: `all[last].cost = cost`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/P5-text-keeps-the-state",
	},
	{
		name: "log/a new instant joins the one before", file: "algorithm/log.go",
		old: `all[last].at == t.at(i) {`, new: `all[last].at >= t.at(i)-1 {`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/sliding-log",
	},
	{
		name: "log/weights of entries that have left", file: "algorithm/log.go",
		old: `return t.through(t.end) - t.through(t.first)`, new: `return t.through(t.end) - t.first`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/M1-remaining-never-falls-with-time",
	},
	{
		name: "log/weights not rebased when moved", file: "algorithm/log.go",
		old: `weight{w.index - t.first, w.extra - before}`, new: `weight{w.index - t.first, w.extra + 0*before}`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/sliding-log",
	},
	{
		name: "log/indexes not rebased when moved", file: "algorithm/log.go",
		old: `weight{w.index - t.first, w.extra - before}`, new: `weight{w.index, w.extra - before}`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/sliding-log",
	},
	{
		name: "log/the first weight is lost when moved", file: "algorithm/log.go",
		old: `>= t.first })`, new: `> t.first })`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/sliding-log",
	},
	{
		name: "log/an entry's own weight is left out", file: "algorithm/log.go",
		old: `t.weights[k].index >= i })`, new: `t.weights[k].index > i })`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/S6-fresh-admits-the-capacity",
	},
	{
		name: "log/finds the entry before", file: "algorithm/log.go",
		old: `-before >= k`, new: `-before > k`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/L2-denied-until-retry-after",
	},
	{
		name: "log/weights do not add up", file: "algorithm/log.go",
		old: `extra += b.weights[weights-1].extra`, new: `extra = max(extra, b.weights[weights-1].extra)`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/E4-costs-add-up",
	},
	{
		name: "log/heading is the units", file: "algorithm/log.go",
		old: "extra += e.cost - 1\n\t}", new: "extra += e.cost\n\t}",
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/sliding-log",
	},
	{
		name: "log/heading from a sum of two", file: "algorithm/log.go",
		old: `if extra > 0 {`, new: `if extra > 1 {`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/sliding-log",
	},
	{
		name: "log/heading of zero", file: "algorithm/log.go",
		old: `if extra > 0 {`, new: `if extra >= 0 {`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/sliding-log",
	},
	{
		name: "log/heading runs into the first entry", file: "algorithm/log.go",
		old: `if i > 0 || extra > 0 {`, new: `if i > 0 {`,
		pkg: "algorithm", killer: "TestLaws/sliding-log/law/P5-text-keeps-the-state",
	},
	{
		name: "log/heading larger than the sum is read", file: "algorithm/log.go",
		old: `if extra != 0 {`, new: `if extra < 0 {`,
		pkg: "algorithm", killer: "TestStateHeadingOfALogIsItsSum/too_large", about: []string{"sliding-log"},
	},
	{
		name: "log/heading smaller than the sum is read", file: "algorithm/log.go",
		old: `if extra != 0 {`, new: `if extra > 0 {`,
		pkg: "algorithm", killer: "TestStateHeadingOfALogIsItsSum/too_small", about: []string{"sliding-log"},
	},
	{
		name: "log/costs without a heading are read", file: "algorithm/log.go",
		old: `if extra != 0 {`, new: `if extra != 0 && text == rest {`,
		pkg: "algorithm", killer: "TestStateHeadingOfALogIsItsSum/missing", about: []string{"sliding-log"},
	},
	{
		name: "log/heading of a log without costs is read", file: "algorithm/log.go",
		old: `if extra != 0 {`, new: `if extra != 0 && total != s.tail().end {`,
		pkg: "algorithm", killer: "TestStateHeadingOfALogIsItsSum/without_need", about: []string{"sliding-log"},
	},
	{
		name: "log/heading of zero is read", file: "algorithm/log.go",
		old: `!ok || extra < 1 {`, new: `!ok || extra < 0 {`,
		pkg: "algorithm", killer: "TestStateHeadingOfALogIsItsSum/without_need", about: []string{"sliding-log"},
	},
	{
		name: "log/heading that is no word is read", file: "algorithm/log.go",
		old: `!ok || extra < 1 {`, new: `!ok && extra == 0 || extra < 1 {`,
		pkg: "algorithm", killer: "TestStateHeadingOfALogIsItsSum/not_a_number", about: []string{"sliding-log"},
	},
	{
		name: "sliding-log/refund of earlier entries too", file: "algorithm/slidinglog.go",
		old: `if e.at == at {`, new: `if e.at <= at {`,
		pkg: "algorithm", killer: "TestOracleRunsReachTheirGoals/sliding-log",
	},
}
