package suggest

import (
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// TestTogetherIsTheMostOfEveryWindow: beside a search over all windows that begin at a request.
func TestTogetherIsTheMostOfEveryWindow(t *testing.T) {
	for seed := range uint64(10) {
		traffic := randomTraffic(seed, 12)
		for _, form := range forms() {
			a, err := form.With(3)
			if err != nil {
				t.Fatal(err)
			}
			var admitted []request
			for _, requests := range traffic.clients {
				var state algorithm.State
				for _, r := range requests {
					next, o := a.Step(state, r.at, algorithm.Request{Cost: r.cost})
					if state = next; o.Allowed {
						admitted = append(admitted, r)
					}
				}
			}
			for _, window := range []time.Duration{time.Microsecond, time.Second, time.Minute, time.Hour} {
				want := int64(0)
				for _, from := range admitted {
					sum := int64(0)
					for _, r := range admitted {
						if r.at >= from.at && r.at < from.at+algorithm.Instant(window.Microseconds()) {
							sum += r.cost
						}
					}
					want = max(want, sum)
				}
				if got := traffic.Together(a, window); got != want {
					t.Errorf("seed %d, %s, %s: %d, want %d", seed, a, window, got, want)
				}
			}
		}
	}
}

// TestBehindChargesAllOrNothing: a request that the limit of all denies costs its client nothing.
func TestBehindChargesAllOrNothing(t *testing.T) {
	traffic := &Traffic{}
	traffic.Add(0, 1*second, 1)
	traffic.Add(1, 2*second, 1) // denied by the limit of all, and free for client 1
	traffic.Add(1, 12*second, 1)
	traffic.Add(1, 23*second, 1)
	each, all := algorithm.Must(algorithm.ParseSpec("sliding-log:2/1m")), algorithm.Must(algorithm.ParseSpec("sliding-log:1/10s"))
	if got, want := traffic.Behind(each, all), (Effect{Clients: 1, Requests: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestBehindAWideLimitIsTheLimitOfEachClient: and keeps all below a narrow one.
func TestBehindAWideLimitIsTheLimitOfEachClient(t *testing.T) {
	wide := algorithm.Must(algorithm.ParseSpec("gcra:1000000/1s"))
	for seed := range uint64(5) {
		traffic := randomTraffic(seed, 20)
		for _, form := range forms() {
			a, err := form.With(4)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := traffic.Behind(a, wide), traffic.Effect(a); got != want {
				t.Errorf("seed %d, %s: %+v, want %+v", seed, a, got, want)
			}
		}
	}
}

// TestNumbersGoBeyondTheLargest: and have those that were asked for.
func TestNumbersGoBeyondTheLargest(t *testing.T) {
	got := Numbers(7, 100)
	has := map[int64]bool{}
	for i, n := range got {
		has[n] = true
		if i > 0 && n <= got[i-1] {
			t.Errorf("%v is not in order", got)
		}
	}
	if !has[1] || !has[7] || !has[100] || got[len(got)-1] < 160 || len(got) > 40 {
		t.Errorf("%v", got)
	}
}
