package mutants

// The token bucket.
var tokenBucketMutants = []mutant{
	{
		name: "token-bucket/last moves back with the clock", file: "algorithm/tokenbucket.go",
		old: `*s = t.store(e, tokens, part)`, new: `*s = t.store(at, tokens, part)`,
		pkg: "algorithm", killer: "TestLaws/token-bucket/law/C2-clock-going-back-gains-nothing",
	},
	{
		name: "token-bucket/effective instant ignored", file: "algorithm/tokenbucket.go",
		old: `e, tokens = max(now, s.w0), s.w1`, new: `e, tokens = now, s.w1`,
		pkg: "algorithm", killer: "TestLawC3StateNeverMovesBack/token-bucket",
	},
	{
		name: "token-bucket/fraction dropped on store", file: "algorithm/tokenbucket.go",
		old: `if part == 0 {`, new: `if part >= 0 {`,
		pkg: "algorithm", killer: "TestLawE1TokenBucketEqualsGCRA", about: []string{"gcra", "token-bucket"},
	},
	{
		name: "token-bucket/wait rounded down", file: "algorithm/tokenbucket.go",
		old: `return exact.Up(exact.MulAddDiv(n, t.per, -part, t.units))`, new: "q, _ := exact.MulAddDiv(n, t.per, -part, t.units)\n\treturn q",
		pkg: "algorithm", killer: "TestLaws/token-bucket/law/L1-admitted-at-retry-after",
	},
	{
		name: "token-bucket/wait without the fraction", file: "algorithm/tokenbucket.go",
		old: `exact.MulAddDiv(n, t.per, -part, t.units)`, new: `exact.MulAddDiv(n, t.per, 0, t.units)`,
		pkg: "algorithm", killer: "TestLaws/token-bucket/law/L2-denied-until-retry-after",
	},
	{
		name: "token-bucket/wait forgets that the clock is behind", file: "algorithm/tokenbucket.go",
		old: `micros(behind + t.wait(r.Cost-tokens, part))`, new: `micros(t.wait(r.Cost-tokens, part))`,
		pkg: "algorithm", killer: "TestLaws/token-bucket/law/L1-admitted-at-retry-after",
	},
	{
		name: "token-bucket/less for at most", file: "algorithm/tokenbucket.go",
		old: `case r.Cost > 0 && r.Cost > tokens:`, new: `case r.Cost > 0 && r.Cost >= tokens:`,
		pkg: "algorithm", killer: "TestLaws/token-bucket/law/E3-remaining-is-exact",
	},
	{
		name: "token-bucket/a denial writes", file: "algorithm/tokenbucket.go",
		old: "\tcase r.Cost > 0 && r.Cost > tokens:\n", new: "\tcase r.Cost > 0 && r.Cost > tokens:\n\t\t*s = t.store(e, tokens, part)\n",
		pkg: "algorithm", killer: "TestLaws/token-bucket/law/M7-denial-changes-nothing",
	},
	{
		name: "token-bucket/fills above its burst", file: "algorithm/tokenbucket.go",
		old: `if tokens >= t.burst {`, new: `if tokens >= t.burst+1 {`,
		pkg: "algorithm", killer: "TestLawE2StatesTellEachOther", about: []string{"gcra", "token-bucket"},
	},
	{
		name: "token-bucket/old tokens above the new burst stay", file: "algorithm/tokenbucket.go",
		old: "\tif tokens >= t.burst {\n\t\treturn e, t.burst, 0\n\t}\n", new: "",
		pkg: "algorithm", killer: "TestLawsAfterChange/token-bucket/law/S8-outcome-is-well-formed",
	},
	{
		name: "token-bucket/gain without the fraction before", file: "algorithm/tokenbucket.go",
		old: `exact.MulAddDiv(elapsed, t.units, part, t.per)`, new: `exact.MulAddDiv(elapsed, t.units, 0, t.per)`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/token-bucket",
	},
	{
		name: "token-bucket/old fraction rounded toward the caller", file: "algorithm/tokenbucket.go",
		old: `part, _ = exact.MulDiv(part, t.per, max(1, s.shape.w3))`, new: `part = min(t.per-1, exact.Up(exact.MulDiv(part, t.per, max(1, s.shape.w3))))`,
		pkg: "algorithm", killer: "TestLawK5FractionsAreRoundedAgainstTheCaller/token-bucket",
	},
	{
		name: "token-bucket/fresh on a change of limit", file: "algorithm/tokenbucket.go",
		old: `s.shape.w3 != t.per {`, new: "s.shape.w3 != t.per {\n\t\t\treturn e, t.burst, 0",
		pkg: "algorithm", killer: "TestLawK3ChangeKeepsWhatWasUsed/token-bucket",
	},
	{
		name: "token-bucket/rate not in lowest terms", file: "algorithm/tokenbucket.go",
		old: `t.units, t.per = r.reduced()`, new: `t.units, t.per = t.limit, t.period`,
		pkg: "algorithm", killer: "TestLawE11ScaledRateIsTheSame/token-bucket",
	},
	{
		name: "token-bucket/refund above the burst", file: "algorithm/tokenbucket.go",
		old: `case r.Cost >= t.burst-tokens:`, new: `case false:`,
		pkg: "algorithm", killer: "TestLaws/token-bucket/law/I4-refund-gives-no-more-than-it-says",
	},
	{
		name: "token-bucket/debt forgiven after the time to fill", file: "algorithm/tokenbucket.go",
		old: "\t\tfull = t.wait(t.burst-tokens, part)\n", new: "",
		pkg: "algorithm", killer: "TestOracleRunsReachTheirGoals/token-bucket",
	},
}
