package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/cmd/weir/internal/report"
)

func TestCompareShowsTheSampleUnderSeveralLimits(t *testing.T) {
	got := start("compare", "--limit", "gcra:10/1m,burst=20", "--limit", "sliding-log:10/1m", "--limit", "fixed-window:30/1m", sample)
	if got.status != exitOK || got.err != "" {
		t.Fatalf("status %d, %s", got.status, got.err)
	}
	wantGolden(t, "compare.golden", got.out)
}

func TestCompareDecidesAsReplayDoesForEachLimitAlone(t *testing.T) {
	// Two limits of one kind: their states must not meet.
	specs := []string{"gcra:10/1m,burst=20", "gcra:5/1m", "leaky-bucket:10/1m", "sliding-counter:20/1m"}
	args := []string{"compare", "--json", "-", sample}
	for _, spec := range specs {
		args = append(args, "--limit", spec)
	}
	var compared report.Comparison
	if err := json.Unmarshal([]byte(start(args...).out), &compared); err != nil {
		t.Fatal(err)
	}
	if len(compared.Limits) != len(specs) {
		t.Fatalf("%d limits", len(compared.Limits))
	}
	for i, spec := range specs {
		var alone report.Replay
		if err := json.Unmarshal([]byte(start("replay", "--json", "-", "--limit", spec, sample).out), &alone); err != nil {
			t.Fatal(err)
		}
		want := report.LimitCount{Limit: spec, Admitted: alone.Admitted, Denied: alone.Denied, KeysHit: alone.KeysHit, UnitsAdmitted: alone.UnitsAdmitted, Wait: alone.Wait}
		if !reflect.DeepEqual(compared.Limits[i], want) {
			t.Errorf("compared %+v, alone %+v", compared.Limits[i], want)
		}
		for _, key := range alone.MostDenied {
			at := slices.IndexFunc(compared.MostDenied, func(k report.KeyCounts) bool { return k.Key == key.Key })
			if at >= 0 && (compared.MostDenied[at].Denied[i] != key.Denied || compared.MostDenied[at].Offered != key.Offered) {
				t.Errorf("%s: %+v, alone %+v", spec, compared.MostDenied[at], key)
			}
		}
		if compared.Events != alone.Events || compared.Keys != alone.Keys || compared.Bad != alone.Bad {
			t.Errorf("compared %+v of %+v", compared.Span, alone.Span)
		}
	}
}

func TestCompareShowsUnitsWhereCostsDiffer(t *testing.T) {
	trace := `{"at_us":0,"key":"a","cost":3}` + "\n" + `{"at_us":0,"key":"a","cost":3}` + "\n"
	got := startWith(trace, "compare", "--limit", "gcra:5/1m", "--limit", "gcra:6/1m", "-")
	for _, want := range []string{"units     6\n", "units admitted", "1  gcra:5/1m         1       1       50.0 %         1               3    50.0 %", "2  gcra:6/1m         2       0          0 %         0               6     100 %"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
}

func TestCompareNeedsSeveralLimitsAndReplayOne(t *testing.T) {
	for _, args := range [][]string{
		{"compare", "--limit", "gcra:1/1s", sample},
		slices.Concat([]string{"compare", sample}, slices.Repeat([]string{"--limit", "gcra:1/1s"}, maxLimits+1)),
		{"replay", "--limit", "gcra:1/1s", "--limit", "gcra:2/1s", sample},
		{"compare", "--limit", "gcra:1/1s", "--limit", "gcra:0/1s", sample},
	} {
		if got := start(args...); got.status != exitUsage || got.out != "" || !strings.Contains(got.err, "--limit") || !strings.Contains(got.err, "must be") {
			t.Errorf("%q: status %d, %s%s", args, got.status, got.out, got.err)
		}
	}
}

func TestCSVIsReplayedByItsColumns(t *testing.T) {
	const tokens = "TIMESTAMP,User,Tokens\n2026-02-03 10:00:01.5000000,ada,700\n2026-02-03 10:00:00,bob,300\n2026-02-03 10:00:01.6,ada,400\n"
	got := replayed(t, tokens, "--limit", "token-bucket:1000/1m", "--time-column", "TIMESTAMP", "--key", "User", "--cost-column", "Tokens", "--decisions", "-")
	want := `{"at_us":1770112800000000,"key":"bob","cost":300,"allowed":true,"limit":1000,"remaining":700,"retry_after_us":0,"reset_after_us":18000000,"delay_us":0}
{"at_us":1770112801500000,"key":"ada","cost":700,"allowed":true,"limit":1000,"remaining":300,"retry_after_us":0,"reset_after_us":42000000,"delay_us":0}
{"at_us":1770112801600000,"key":"ada","cost":400,"allowed":false,"limit":1000,"remaining":301,"retry_after_us":5900000,"reset_after_us":41900000,"delay_us":0}
`
	if got != want {
		t.Error(difference(got, want))
	}
	if got := replayed(t, tokens, "--limit", "fixed-window:2/1h", "--time-column", "TIMESTAMP"); !strings.Contains(got, "keys      1, of which 1 denied") {
		t.Errorf("without a key column there is one key:\n%s", got)
	}
	for flag, args := range map[string][]string{
		"--cost-column": {"--time-column", "TIMESTAMP", "--cost-column", "Token"},
		"--time-column": {"--format", "csv"},
		"--key":         {"--time-column", "TIMESTAMP", "--key", "Client"},
	} {
		got := startWith(tokens, append([]string{"replay", "--limit", "gcra:1/1s", "-"}, args...)...)
		if got.status != exitUsage || !strings.Contains(got.err, "weir: "+flag+": ") {
			t.Errorf("%q: status %d, %s", args, got.status, got.err)
		}
	}
}
