package suggest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

const second = 1_000_000 // µs

// forms are one of each algorithm.
func forms() (all []Form) {
	for _, f := range algorithm.Families() {
		if f.Calendar {
			all = append(all, Form(f.Name+":?/day"))
			continue
		}
		all = append(all, Form(f.Name+":?/1m"))
	}
	return append(all, "gcra:?/1m,burst=3", "token-bucket:30/1m,burst=?")
}

// randomTraffic has clients of very different speeds.
func randomTraffic(seed uint64, clients int) *Traffic {
	r := rand.New(rand.NewPCG(seed, 0))
	t := &Traffic{}
	for client := range clients {
		at := algorithm.Instant(1_000_000 * second)
		pause := 1 + r.Int64N(30*second)
		for range 1 + r.IntN(80) {
			at += algorithm.Instant(r.Int64N(2 * pause))
			t.Add(client, at, 1)
		}
	}
	return t
}

// TestSuggestedLimitMeetsTheTargetAndOneUnitLessMissesIt: for each algorithm, beside a search
// that tries every number.
func TestSuggestedLimitMeetsTheTargetAndOneUnitLessMissesIt(t *testing.T) {
	for seed := range uint64(8) {
		traffic := randomTraffic(seed, 40)
		for _, form := range forms() {
			for _, target := range []Target{{}, {Clients: Share{0, 100}}, {Clients: Share{5, 100}}, {Requests: Share{1, 100}}, {Clients: Share{10, 100}, Requests: Share{1, 1000}}} {
				got, found, err := traffic.Smallest(form, target)
				if err != nil {
					t.Fatal(err)
				}
				want, wantFound := bruteForce(t, traffic, form, target, 2000)
				if found && got.Number > 2000 {
					wantFound, want = true, got.Number
				}
				if found != wantFound || got.Number != want {
					t.Errorf("seed %d, %s, %+v: %d (%t), want %d (%t)", seed, form, target, got.Number, found, want, wantFound)
				}
				if !found {
					continue
				}
				if !traffic.meets(got.Effect, target) || got.Effect != traffic.Effect(got.Algorithm) {
					t.Errorf("seed %d, %s: %+v does not meet %+v", seed, form, got.Effect, target)
				}
				if (got.Less == nil) != (got.Number == 1) || got.Less != nil && traffic.meets(*got.Less, target) {
					t.Errorf("seed %d, %s: one unit less has %+v", seed, form, got.Less)
				}
			}
		}
	}
}

// bruteForce tries 1, 2, 3, … up to most.
func bruteForce(t *testing.T, traffic *Traffic, form Form, target Target, most int64) (number int64, found bool) {
	t.Helper()
	for number = 1; number <= most; number++ {
		a, err := form.With(number)
		if err != nil {
			t.Fatal(err)
		}
		if traffic.meets(traffic.Effect(a), target) {
			return number, true
		}
	}
	return 0, false
}

// TestKnownBestLimitIsFound: ten clients ask 1 to 10 times within a window.
func TestKnownBestLimitIsFound(t *testing.T) {
	traffic := &Traffic{}
	for client := range 10 {
		for range client + 1 {
			traffic.Add(client, 60*second, 1)
		}
	}
	for _, c := range []struct {
		target Target
		want   int64
	}{
		{Target{Clients: Share{0, 100}}, 10},
		{Target{Clients: Share{10, 100}}, 9},
		{Target{Clients: Share{19, 100}}, 9}, // 1.9 clients are one
		{Target{Clients: Share{50, 100}}, 5},
		{Target{Requests: Share{1, 55}}, 9},
		{Target{Requests: Share{2, 55}}, 9}, // 8 would deny three
		{Target{Requests: Share{3, 55}}, 8},
		{Target{Clients: Share{100, 100}}, 1},
	} {
		for _, form := range []Form{"gcra:?/1m", "sliding-log:?/1m", "fixed-window:?/1m", "sliding-counter:?/1m", "token-bucket:?/1m"} {
			got, found, err := traffic.Smallest(form, c.target)
			if err != nil || !found || got.Number != c.want {
				t.Errorf("%s, %+v: %d, found %t, %v: want %d", form, c.target, got.Number, found, err, c.want)
			}
		}
	}
}

// TestFormThatNoNumberHelpsIsNotFound: a burst of 2 denies three requests at one instant
// whatever the rate.
func TestFormThatNoNumberHelpsIsNotFound(t *testing.T) {
	traffic := &Traffic{}
	for range 3 {
		traffic.Add(0, second, 1)
	}
	if got, found, err := traffic.Smallest("gcra:?/1m,burst=2", Target{Clients: Share{0, 100}}); found || err != nil {
		t.Errorf("%+v, %v: want nothing", got, err)
	}
}

// TestNumberIsFoundUpToTheLargestThatAFormAllows: a burst of 45 is the largest that fills
// within 18,250 days.
func TestNumberIsFoundUpToTheLargestThatAFormAllows(t *testing.T) {
	for requests, want := range map[int]int64{40: 40, 45: 45, 46: 0, 100: 0} {
		traffic := &Traffic{}
		for range requests {
			traffic.Add(0, second, 1)
		}
		got, found, err := traffic.Smallest("token-bucket:1/9600h,burst=?", Target{Clients: Share{0, 100}})
		if err != nil || found != (want > 0) || got.Number != want {
			t.Errorf("%d requests: %d (%t), %v: want %d", requests, got.Number, found, err, want)
		}
	}
}

// TestFormIsChecked: before the traffic is decided.
func TestFormIsChecked(t *testing.T) {
	for form, want := range map[Form]string{"gcra:10/1m": "has no ?", "gcra:?/x": "period", "bucket:?/1m": "bucket", "gcra:?/?": "period", "gcra:1/?s": "period"} {
		err := form.Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", form, err, want)
		}
	}
	for _, form := range forms() {
		if err := form.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestPeaksAreThoseOfEveryWindow: beside a search over all windows that begin at a request.
func TestPeaksAreThoseOfEveryWindow(t *testing.T) {
	for seed := range uint64(20) {
		traffic := randomTraffic(seed, 6)
		r := rand.New(rand.NewPCG(seed, 1))
		for _, requests := range traffic.clients {
			r.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] }) // a clock that goes back
		}
		for _, window := range []time.Duration{time.Microsecond, time.Second, time.Minute, time.Hour} {
			var want []int64
			for _, requests := range traffic.clients {
				most := int64(0)
				for _, from := range requests {
					sum := int64(0)
					for _, in := range requests {
						if in.at >= from.at && in.at < from.at+algorithm.Instant(window.Microseconds()) {
							sum += in.cost
						}
					}
					most = max(most, sum)
				}
				want = append(want, most)
			}
			slices.Sort(want)
			if got := traffic.Peaks(window); !slices.Equal(got, want) {
				t.Errorf("seed %d, %s: %v, want %v", seed, window, got, want)
			}
		}
	}
}

// TestSplitKeepsEveryRequestOnOneSide: and numbers the clients of each side anew.
func TestSplitKeepsEveryRequestOnOneSide(t *testing.T) {
	traffic := randomTraffic(1, 30)
	before, after := traffic.Split(80)
	if before.Requests()+after.Requests() != traffic.Requests() || before.Requests() == 0 || after.Requests() == 0 {
		t.Errorf("%d and %d of %d requests", before.Requests(), after.Requests(), traffic.Requests())
	}
	cut := traffic.first + algorithm.Instant(int64(traffic.last-traffic.first)*8/10)
	if before.last >= cut || after.first < cut {
		t.Errorf("the sides meet at %d and %d, want %d between", before.last, after.first, cut)
	}
	for _, side := range []*Traffic{before, after} {
		for client, requests := range side.clients {
			if len(requests) == 0 {
				t.Errorf("client %d has no request", client)
			}
		}
	}
}

// TestPercentileIsTheSmallestThatCoversThem: also of few values.
func TestPercentileIsTheSmallestThatCoversThem(t *testing.T) {
	values := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for percent, want := range map[int]int64{0: 1, 1: 1, 10: 1, 11: 2, 50: 5, 90: 9, 99: 10, 100: 10} {
		if got := Percentile(values, percent); got != want {
			t.Errorf("%d %%: %d, want %d", percent, got, want)
		}
	}
	if got := Percentile(nil, 50); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}
