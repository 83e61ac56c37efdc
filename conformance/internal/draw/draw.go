// Package draw tries a property with random choices, and makes those that break it
// shorter and smaller. The depth and the seed are arguments: package rapid, which
// draws for laws under go test, takes them from flags of the whole process, and
// does not run without go test.
package draw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirgo/weir/conformance/internal/recorder"
)

// Source draws whole numbers. It is used by one goroutine.
type Source interface {
	// Draw returns a number of from to to, both included. label says what it is for.
	Draw(label string, from, to int64) int64
}

// Options say how a property is tried.
type Options struct {
	Name   string        // of the check, for the failure
	Runs   int           // how many times
	Seed   uint64        // of the first run; each later run has the next seed
	Shrink time.Duration // how long a failure is made smaller, at most
}

// T is what one run of a property gets.
type T struct {
	*recorder.T
	random *rand.Rand
	given  []uint64 // offsets that are drawn first; then 0 where random is nil
	drawn  []uint64 // offsets from the lower end, as they were drawn
}

// Draw implements Source. Small widths are drawn evenly; of large ones both ends
// are drawn more often than the rest.
func (t *T) Draw(_ string, from, to int64) int64 {
	if to < from {
		panic(fmt.Sprintf("draw: no number is from %d to %d", from, to))
	}
	width, offset := uint64(to)-uint64(from), uint64(0)
	switch i := len(t.drawn); {
	case i < len(t.given):
		offset = min(t.given[i], width)
	case t.random != nil:
		offset = t.offset(width)
	}
	t.drawn = append(t.drawn, offset)
	return int64(uint64(from) + offset)
}

func (t *T) offset(width uint64) uint64 {
	const few = 1000
	if width > few {
		switch t.random.IntN(8) {
		case 0:
			width = few
		case 1:
			return width - t.random.Uint64N(few)
		}
	}
	if width == 1<<64-1 {
		return t.random.Uint64()
	}
	return t.random.Uint64N(width + 1)
}

// Search runs a property and returns nil, or what the shortest failing run logged,
// with the seed that repeats it.
func Search(o Options, property func(t *T)) error {
	run := func(random *rand.Rand, given []uint64) (*T, recorder.Result) {
		t := &T{random: random, given: given}
		r := recorder.Run(o.Name, func(inner *recorder.T) { t.T = inner; property(t) })
		return t, r
	}
	for i := range o.Runs {
		seed := o.Seed + uint64(i)
		t, r := run(rand.New(rand.NewPCG(seed, 0)), nil)
		if !r.Failed {
			continue
		}
		text := r.Text
		shrink(t.drawn, time.Now().Add(o.Shrink), func(given []uint64) ([]uint64, bool) {
			t, r := run(nil, given)
			if r.Failed {
				text = r.Text
			}
			return t.drawn, r.Failed
		})
		return fmt.Errorf("%s\n  found by random history %d. To reproduce, specify -run=%q -rapid.seed=%d", text, i+1, o.Name, seed)
	}
	return nil
}

// shrink leaves out choices, and then lowers them, as long as the property fails.
func shrink(drawn []uint64, until time.Time, fails func(given []uint64) (drawn []uint64, failed bool)) {
	try := func(given []uint64) bool {
		if time.Now().After(until) {
			return false
		}
		again, failed := fails(given)
		if failed && (len(again) < len(drawn) || len(again) == len(drawn) && slices.Compare(again, drawn) < 0) {
			drawn = again
			return true
		}
		return false
	}
	for smaller := true; smaller && time.Now().Before(until); {
		smaller = false
		for size := max(1, len(drawn)/2); size > 0; size /= 2 {
			for i := len(drawn) - size; i >= 0; i-- {
				if i+size <= len(drawn) && try(slices.Delete(slices.Clone(drawn), i, i+size)) {
					smaller = true
				}
			}
		}
		for i := 0; i < len(drawn); i++ {
			for _, lower := range []func(uint64) uint64{
				func(uint64) uint64 { return 0 }, func(n uint64) uint64 { return n / 2 }, func(n uint64) uint64 { return n - 1 },
			} {
				for i < len(drawn) && drawn[i] > 0 {
					given := slices.Clone(drawn)
					if given[i] = lower(drawn[i]); !try(given) {
						break
					}
					smaller = true
				}
			}
		}
	}
}
