package mutants

// The schedule (GCRA, leaky bucket).
var scheduleMutants = []mutant{
	{
		name: "gcra/retry-after rounded down", file: "algorithm/gcra.go",
		old: `micros(g.minus(cost, room).ceil())`, new: `micros(g.minus(cost, room).whole)`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/L1-admitted-at-retry-after",
	},
	{
		name: "gcra/retry-after is the whole arrival time", file: "algorithm/gcra.go",
		old: `micros(g.minus(cost, room).ceil())`, new: `micros(debt.ceil())`,
		pkg: "algorithm", killer: "TestGCRARetryAfterIsOneUnit",
		about: []string{"spec", "gcra", "token-bucket"},
	},
	{
		name: "gcra/reset-after rounded down", file: "algorithm/gcra.go",
		old: `micros(debt.ceil())`, new: `micros(debt.whole)`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/L6-fresh-at-reset-after",
	},
	{
		name: "gcra/reset-after 1 µs too long", file: "algorithm/gcra.go",
		old: `o.ResetAfter = micros(debt.ceil())`, new: `o.ResetAfter = micros(debt.ceil() + min(1, debt.ceil()))`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/L6-not-fresh-before-reset-after",
	},
	{
		name: "gcra/remaining one too many", file: "algorithm/gcra.go",
		old: `o.Remaining = g.remaining(room)`, new: `o.Remaining = min(g.burst, g.remaining(room)+1)`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/E3-remaining-is-exact",
	},
	{
		name: "gcra/a denial is charged", file: "algorithm/gcra.go",
		old: "o.RetryAfter = micros(g.minus(cost, room).ceil())\n", new: "o.RetryAfter = micros(g.minus(cost, room).ceil())\n*s = g.store(at, g.plus(debt, g.unit))\n",
		pkg: "algorithm", killer: "TestLaws/gcra/law/M7-denial-changes-nothing",
	},
	{
		name: "gcra/fraction dropped on store", file: "algorithm/schedule.go",
		old: `if debt.part == 0 {`, new: `if debt.part >= 0 {`,
		pkg: "algorithm", killer: "TestLawE1TokenBucketEqualsGCRA", about: []string{"gcra", "token-bucket"},
	},
	{
		name: "gcra/fraction rounded up on store", file: "algorithm/schedule.go",
		old: `if debt.part == 0 {`, new: "if debt.part > 0 {\n\t\tdebt = span{whole: debt.whole + 1}\n\t}\n\tif true {",
		pkg: "algorithm", killer: "TestLawS7GreedyGetsExactlyTheRate/gcra",
	},
	{
		name: "gcra/fraction dropped in the last microsecond", file: "algorithm/schedule.go",
		old: `state.w0 < now {`, new: `state.w0 <= now {`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/L7-reset-instant-is-steady",
	},
	{
		name: "gcra/debt beyond full is forgiven", file: "algorithm/schedule.go",
		old: `return span{whole: max(0, state.w0-now)}`, new: `return span{whole: min(max(0, state.w0-now), s.full.whole)}`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/C2-clock-going-back-gains-nothing",
	},
	{
		name: "gcra/old fraction rounded toward the caller", file: "algorithm/schedule.go",
		old: `d.part = exact.Up(exact.MulDiv(state.w1, s.units, max(1, state.w2)))`, new: `d.part, _ = exact.MulDiv(state.w1, s.units, max(1, state.w2))`,
		pkg: "algorithm", killer: "TestLawK5FractionsAreRoundedAgainstTheCaller/gcra",
	},
	{
		name: "gcra/old fraction read over the new denominator", file: "algorithm/schedule.go",
		old: `state.w2 != s.units {`, new: `state.w2 == 0 {`,
		pkg: "algorithm", killer: "TestLawK5FractionsAreRoundedAgainstTheCaller/gcra",
	},
	{
		name: "gcra/no carry from an old fraction", file: "algorithm/schedule.go",
		old: `d = span{whole: d.whole + 1}`, new: `d = span{whole: d.whole}`,
		pkg: "algorithm", killer: "TestLawK5FractionsAreRoundedAgainstTheCaller/leaky-bucket",
	},
	{
		name: "gcra/no carry in a sum", file: "algorithm/schedule.go",
		old: `sum = span{sum.whole + 1, sum.part - s.units}`, new: `sum = span{sum.whole, sum.part - s.units}`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/E4-costs-add-up",
	},
	{
		name: "gcra/remaining without the fraction", file: "algorithm/schedule.go",
		old: `exact.MulAddDiv(room.whole, s.units, room.part, s.per)`, new: `exact.MulAddDiv(room.whole, s.units, 0, s.per)`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/E3-remaining-is-exact",
	},
	{
		name: "gcra/remaining below zero", file: "algorithm/gcra.go",
		old: `if room.whole < 0 {`, new: `if false {`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/S8-outcome-is-well-formed",
	},
	{
		name: "schedule/charge beyond the largest debt", file: "algorithm/schedule.go",
		old: `r.burst += s.MaxDebt()`, new: `r.burst += 2 * s.MaxDebt()`,
		pkg: "algorithm", killer: "TestLaws/gcra/law/I3-charge-ends-at-the-largest-debt",
	},
	{
		name: "schedule/refund to before now", file: "algorithm/schedule.go",
		old: `given.less(debt) {`, new: `true {`,
		pkg: "algorithm", killer: "TestOracleRunsReachTheirGoals/leaky-bucket",
	},
	{
		name: "leaky-bucket/delay rounded down", file: "algorithm/leakybucket.go",
		old: `delay := debt.ceil()`, new: `delay := debt.whole`,
		pkg: "algorithm", killer: "TestLawE10LeakyBucketFollowsGCRA", about: []string{"gcra", "leaky-bucket"},
	},
	{
		name: "leaky-bucket/bound on the delay ignored", file: "algorithm/leakybucket.go",
		old: `(late > 0 || room.less(cost))`, new: `room.less(cost)`,
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/S8-outcome-is-well-formed",
	},
	{
		name: "leaky-bucket/no retry for a late turn", file: "algorithm/leakybucket.go",
		old: `max(late, l.minus(cost, room).ceil())`, new: `max(1, l.minus(cost, room).ceil())`,
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/L1-admitted-at-retry-after",
	},
	{
		name: "leaky-bucket/bound below 1 µs is none", file: "algorithm/leakybucket.go",
		old: "\tif bound == 0 {", new: "\tif bound/time.Microsecond == 0 {",
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/S8-outcome-is-well-formed",
	},
	{
		name: "leaky-bucket/retry rounded down", file: "algorithm/leakybucket.go",
		old: `l.minus(cost, room).ceil()`, new: `l.minus(cost, room).whole`,
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/L1-admitted-at-retry-after",
	},
	{
		name: "leaky-bucket/remaining of before the decision", file: "algorithm/leakybucket.go",
		old: `debt, room = l.plus(debt, cost), l.minus(room, cost)`, new: `debt = l.plus(debt, cost)`,
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/E14-look-foretells-take",
	},
	{
		name: "leaky-bucket/a look writes", file: "algorithm/leakybucket.go",
		old: "\t\tif r.Cost > 0 {\n\t\t\tdebt, room", new: "\t\tif r.Cost >= 0 {\n\t\t\tdebt, room",
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/M6-look-changes-nothing",
	},
	{
		name: "leaky-bucket/negative cost refunds", file: "algorithm/leakybucket.go",
		old: `if uint64(r.Cost) > uint64(l.burst) {`, new: `if r.Cost > l.burst {`,
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/I1-negative-cost-is-harmless",
	},
	{
		name: "leaky-bucket/charged in full from now", file: "algorithm/leakybucket.go",
		old: `*s = l.store(at, debt)`, new: `*s = l.store(at, cost)`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/leaky-bucket",
	},
	{
		name: "leaky-bucket/less for at most", file: "algorithm/leakybucket.go",
		old: `room.less(cost)`, new: `!cost.less(room)`,
		pkg: "algorithm", killer: "TestLaws/leaky-bucket/law/S6-fresh-admits-the-capacity",
	},
}
