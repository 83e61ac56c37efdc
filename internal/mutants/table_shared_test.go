package mutants

// Arithmetic, bounds and states. Mutants of the stores join here, each with its
// file, its package, and the check that must fail.
var sharedMutants = []mutant{
	{
		name: "arithmetic/products of 64 bits", file: "internal/exact/muldiv.go",
		old: `bits.Div64(hi, lo, uint64(m))`, new: `lo/uint64(m), lo%uint64(m)`,
		pkg: "algorithm", killer: "TestLawM8CostIsChargedOnce/gcra",
	},
	{
		name: "arithmetic/a negative summand is taken for a large one", file: "internal/exact/muldiv.go",
		old: `hi += uint64(c>>63) + carry`, new: `hi += carry`,
		pkg: "algorithm", killer: "TestLawE1TokenBucketEqualsGCRA",
	},
	{
		name: "arithmetic/no carry between the halves", file: "internal/exact/muldiv.go",
		old: `hi += uint64(c>>63) + carry`, new: "_ = carry\n\thi += uint64(c >> 63)",
		pkg: "algorithm", killer: "TestLawE1TokenBucketEqualsGCRA",
	},
	{
		name: "instant/not kept to its bounds", file: "algorithm/instant.go",
		old: `return min(max(i, 0), MaxInstant)`, new: `return i`,
		pkg: "algorithm", killer: "TestLawC7InstantMovesToTheNearestBound/gcra",
	},
	{
		name: "rate/limit of zero", file: "algorithm/rate.go",
		old: `r.Units < 1 `, new: `r.Units < 0 `,
		pkg: "algorithm", killer: "TestLawI2RefusesWhatIsOutOfBounds", about: []string{"bounds"},
	},
	{
		name: "rate/part of a microsecond is dropped", file: "algorithm/rate.go",
		old: ` || r.Per%time.Microsecond != 0`, new: ``,
		pkg: "algorithm", killer: "TestLawI2RefusesWhatIsOutOfBounds", about: []string{"bounds"},
	},
	{
		name: "rate/capacity of zero", file: "algorithm/rate.go",
		old: `burst < 1 `, new: `burst < 0 `,
		pkg: "algorithm", killer: "TestLawI2RefusesWhatIsOutOfBounds", about: []string{"bounds"},
	},
	{
		name: "rate/time-to-full refused at its bound", file: "algorithm/rate.go",
		old: `lo > maxLo`, new: `lo >= maxLo`,
		pkg: "algorithm", killer: "TestLawI2AcceptsWhatIsWithinBounds", about: []string{"bounds"},
	},
	{
		name: "rate/time-to-full of 64 bits", file: "algorithm/rate.go",
		old: `hi > maxHi || hi == maxHi && lo > maxLo`, new: `lo > maxLo+0*(hi+maxHi)`,
		pkg: "algorithm", killer: "TestLawI2RefusesWhatIsOutOfBounds", about: []string{"bounds"},
	},
	{
		name: "state/a damaged word is taken for a fresh key", file: "algorithm/state.go",
		old: "\t\tif !ok {\n\t\t\treturn State{}, refuseState(field)\n\t\t}\n\t\twords[n] = w", new: "\t\tif !ok {\n\t\t\treturn State{}, nil\n\t\t}\n\t\twords[n] = w",
		pkg: "algorithm", killer: "ExampleParseState", about: []string{"damage"},
	},
	{
		name: "spec/burst is a tenth of the limit where not given", file: "algorithm/spec.go",
		old: `capacity := limit`, new: `capacity := max(1, limit/10)`,
		pkg: "algorithm", killer: "TestBurstIsTheLimitWhereNotGiven",
		about: []string{"spec", "gcra", "leaky-bucket", "token-bucket"},
	},
	{
		name: "ttl/floored to milliseconds", file: "store/decide.go",
		old: `resetAfter += time.Millisecond - rest`, new: `resetAfter -= rest`,
		pkg: "store", killer: "TestLawTTLIsNeverShorterThanResetAfterAndGrace",
	},
	{
		name: "ttl/without grace", file: "store/decide.go",
		old: `return resetAfter + Grace`, new: `return resetAfter`,
		pkg: "store", killer: "TestLawTTLIsNeverShorterThanResetAfterAndGrace",
	},
}
