package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const latest = 7_000_000_000_000_000

type request struct {
	at       int64
	admitted bool
}

func collect(requests []request) *timeline {
	t := newTimeline(1)
	for _, r := range requests {
		t.add(r.at, []bool{r.admitted})
	}
	return t
}

// counted is the timeline by definition: the finest width with no more than Rows
// rows, and a row for each of its multiples from the first request to the last.
func counted(requests []request) (rows []Bucket, width int64) {
	first, last := requests[0].at, requests[0].at
	for _, r := range requests {
		first, last = min(first, r.at), max(last, r.at)
	}
	for _, w := range widths {
		if width = micros(w); last/width-first/width < Rows {
			break
		}
	}
	for start := first / width * width; start <= last; start += width {
		rows = append(rows, Bucket{StartMicros: start})
	}
	for _, r := range requests {
		b := &rows[r.at/width-first/width]
		b.Offered++
		if r.admitted {
			b.Admitted++
		}
	}
	return rows, width
}

// rowsOf are the rows of a text.
func rowsOf(t *timeline) ([]Bucket, int64) {
	s := t.series(Rows)
	return s.buckets(), s.width
}

func TestTimelineCountsEveryRequestInItsRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A span of any size, anywhere, and requests in any order of time.
		span := rapid.Int64Range(0, latest).Draw(t, "span") >> rapid.IntRange(0, 52).Draw(t, "shift")
		start := rapid.Int64Range(0, latest-span).Draw(t, "start")
		requests := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) request {
			return request{start + rapid.Int64Range(0, span).Draw(t, "at"), rapid.Bool().Draw(t, "admitted")}
		}), 1, 100).Draw(t, "requests")
		rows, width := rowsOf(collect(requests))
		wantRows, wantWidth := counted(requests)
		if width != wantWidth || !slices.Equal(rows, wantRows) {
			t.Fatalf("width %d, rows %v\nwant  %d, %v", width, rows, wantWidth, wantRows)
		}
	})
}

func TestTimelineDoesNotDependOnTheOrder(t *testing.T) {
	var requests []request
	for i := range int64(1000) {
		requests = append(requests, request{i * i * i * 7_000_000, i%3 == 0})
	}
	want := fmt.Sprint(rowsOf(collect(requests)))
	for seed := range uint64(20) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		if got := fmt.Sprint(rowsOf(collect(requests))); got != want {
			t.Fatalf("seed %d: %s\nwant %s", seed, got, want)
		}
	}
}

func TestTimelineHoldsAllTime(t *testing.T) {
	for _, requests := range [][]request{
		{{0, true}, {latest, false}},
		{{latest, false}, {0, true}},
		{{latest, true}, {latest - 1, true}, {0, true}, {latest / 2, false}},
	} {
		rows, width := rowsOf(collect(requests))
		var offered int64
		for _, b := range rows {
			offered += b.Offered
		}
		if len(rows) > Rows || offered != int64(len(requests)) || rows[0].StartMicros != 0 || rows[len(rows)-1].StartMicros+width <= latest {
			t.Errorf("%v: width %d, rows %v", requests, width, rows)
		}
	}
}

func TestTimelineIsFinerInAPicture(t *testing.T) {
	line := newTimeline(2)
	for i := range int64(1000) {
		line.add(i*1000, []bool{i%2 == 0, i%5 == 0})
	}
	s := line.series(fineRows)
	var offered, first, second int64
	for _, m := range s.rows {
		offered, first, second = offered+m.offered, first+m.admitted[0], second+m.admitted[1]
	}
	if s.width != 10_000 || len(s.rows) != 100 || offered != 1000 || first != 500 || second != 200 {
		t.Errorf("%d rows of %d µs, %d offered, %d and %d admitted", len(s.rows), s.width, offered, first, second)
	}
	if rows, width := rowsOf(line); width != 100_000 || len(rows) != 10 {
		t.Errorf("%d rows of %d µs for a terminal", len(rows), width)
	}
	if again := line.series(fineRows); again.width != s.width || len(again.rows) != len(s.rows) {
		t.Error("to look at the rows changed the timeline")
	}
}

func TestTimelineOfOneInstantIsOneRow(t *testing.T) {
	rows, width := rowsOf(collect([]request{{42, true}, {42, false}}))
	if !slices.Equal(rows, []Bucket{{42, 2, 1}}) || width != 1 {
		t.Errorf("width %d, rows %v", width, rows)
	}
}

func TestTimelineOfNothingIsEmptyAndNotNil(t *testing.T) {
	if rows, width := rowsOf(newTimeline(1)); rows == nil || len(rows) != 0 || width != 0 {
		t.Errorf("width %d, rows %#v", width, rows)
	}
}

func TestTimelineStaysSmall(t *testing.T) {
	line := newTimeline(1)
	for i := range int64(100_000) {
		line.add(i*70_000_000%latest, []bool{true})
		if len(line.moments) > fineRows {
			t.Fatalf("%d rows after %d requests", len(line.moments), i+1)
		}
	}
}

func TestEachWidthIsAMultipleOfTheOneBefore(t *testing.T) {
	for i := 1; i < len(widths); i++ {
		if widths[i] <= widths[i-1] || widths[i]%widths[i-1] != 0 {
			t.Errorf("%v does not divide %v", widths[i-1], widths[i])
		}
	}
	if widest := micros(widths[len(widths)-1]); latest/widest >= Rows {
		t.Errorf("the widest makes %d rows of all time", latest/widest+1)
	}
}

func TestBarHidesNoRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(0, 200), rapid.Int64Range(0, 1<<50))
		b := Bucket{Offered: count.Draw(t, "offered")}
		b.Admitted = min(b.Offered, count.Draw(t, "admitted"))
		most := max(1, b.Offered, count.Draw(t, "most"))
		got := bar(b, most)
		admitted, denied := strings.Count(got, "#"), strings.Count(got, "-")
		if (admitted > 0) != (b.Admitted > 0) || (denied > 0) != (b.Offered > b.Admitted) {
			t.Fatalf("%+v of %d: %q", b, most, got)
		}
		if len(got) != admitted+denied || len(got) > barWidth+1 || got != strings.Repeat("#", admitted)+strings.Repeat("-", denied) {
			t.Fatalf("%+v of %d: %q", b, most, got)
		}
	})
}

func TestBarOfTheMostIsFull(t *testing.T) {
	for _, c := range []struct {
		b    Bucket
		most int64
		want string
	}{
		{Bucket{0, 0, 0}, 10, ""},
		{Bucket{0, 10, 10}, 10, strings.Repeat("#", 50)},
		{Bucket{0, 10, 0}, 10, strings.Repeat("-", 50)},
		{Bucket{0, 10, 5}, 10, strings.Repeat("#", 25) + strings.Repeat("-", 25)},
		{Bucket{0, 1000, 999}, 1000, strings.Repeat("#", 50) + "-"},
		{Bucket{0, 1000, 1}, 1000, "#" + strings.Repeat("-", 49)},
		{Bucket{0, 1, 1}, 1_000_000, "#"},
		{Bucket{0, 1, 0}, 1_000_000, "-"},
		{Bucket{0, 2, 1}, 1_000_000, "#-"},
	} {
		if got := bar(c.b, c.most); got != c.want {
			t.Errorf("%+v of %d: %q, want %q", c.b, c.most, got, c.want)
		}
	}
}
