package main

import (
	"flag"
	"strconv"
)

// setRapid says how often random checks try and from which seed: they read it from
// flags, as under go test. It returns what puts the flags back.
func setRapid(depth int, seed uint64) (restore func()) {
	var undo []func()
	for name, value := range map[string]string{
		"rapid.checks":     strconv.Itoa(depth),
		"rapid.seed":       strconv.FormatUint(seed, 10),
		"rapid.nofailfile": "true",
		"rapid.failfile":   "", // which the environment may set
	} {
		f := flag.Lookup(name)
		before := f.Value.String()
		undo = append(undo, func() { _ = f.Value.Set(before) }) // it was valid
		if err := f.Value.Set(value); err != nil {
			panic(err) // a number is one
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}
