package service

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// recording are the metrics of a service, read again and again. A reading stands for 30 s, so
// that alerts which look at minutes are tried in seconds.
type recording struct {
	readings int
	series   map[string][]string // values by name and labels, "_" where there was none
}

func (rec *recording) read(page string) {
	for line := range strings.Lines(page) {
		i := strings.LastIndexByte(line, ' ')
		if !strings.HasPrefix(line, "rate_limiter_") || i < 0 {
			continue
		}
		name := line[:i]
		for len(rec.series[name]) < rec.readings {
			rec.series[name] = append(rec.series[name], "_")
		}
		rec.series[name] = append(rec.series[name], strings.TrimSpace(line[i+1:]))
	}
	rec.readings++
}

// expect writes a test for promtool: which alerts fire after as many readings as broken is, and
// that none does after the first quiet ones. which chooses the alerts that count.
func (rec *recording) expect(rules, which string, quiet, broken int, firing []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 30s\ntests:\n  - interval: 30s\n    input_series:\n", rules)
	for _, name := range slices.Sorted(maps.Keys(rec.series)) {
		with := strings.Replace(name, "{", `{instance="a",`, 1)
		if with == name {
			with += `{instance="a"}`
		}
		fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", with, strings.Join(rec.series[name], " "))
	}
	b.WriteString("    promql_expr_test:\n")
	at := func(reading int, firing []string) {
		fmt.Fprintf(&b, "      - expr: count by (alertname) (ALERTS{alertstate=\"firing\",%s})\n        eval_time: %ds\n        exp_samples:\n", which, reading*30)
		for _, name := range firing {
			fmt.Fprintf(&b, "          - {labels: '{alertname=%q}', value: 1}\n", name)
		}
	}
	if quiet > 0 {
		at(quiet-1, nil)
	}
	at(broken-1, firing)
	return b.String()
}

// broken is what a test breaks.
type broken struct {
	server *servertest.Server
	proxy  *servertest.Proxy
	folder string
}

func stop(b broken) { b.server.Stop() }

func freeze(b broken) { b.server.Freeze() }

// TestAlertsFireWhereAServiceBreaks: the rules of deploy see the metrics of a running service
// whose store is stopped, frozen or slow, or whose policy is refused.
func TestAlertsFireWhereAServiceBreaks(t *testing.T) {
	tool := servertest.PrometheusTool(t, "promtool")
	rules, err := filepath.Abs("../deploy/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const before, after = 5, 23
	// The machine decides how fast a decision is, and whether one ends in 25 ms: so WeirSlow
	// counts where the store is made slow alone, and what fires before the break not where the
	// time-out is short.
	const butSlow, slow = `alertname!="WeirSlow"`, `alertname="WeirSlow"`
	for name, c := range map[string]struct {
		mode, timeout string
		broke         func(b broken)
		seen          int // how many readings after the break the alert fires; 0 is all
		firing        []string
	}{
		"store is stopped, mode closed": {mode: "closed", broke: stop, firing: []string{"WeirErrors", "WeirStoreUnavailable"}},
		"store is stopped, mode open":   {mode: "open", broke: stop, firing: []string{"WeirStoreUnavailable"}},
		"store is stopped, mode local":  {mode: "local", broke: stop, firing: []string{"WeirStoreUnavailable"}},
		"store is frozen, mode closed":  {mode: "closed", timeout: "25ms", broke: freeze, firing: []string{"WeirErrors", "WeirStoreUnavailable"}},
		"store is frozen, mode open":    {mode: "open", timeout: "25ms", broke: freeze, firing: []string{"WeirStoreUnavailable"}},
		"store is slow":                 {mode: "closed", broke: func(b broken) { b.proxy.DelayReplies(20 * time.Millisecond) }, firing: []string{"WeirSlow"}},
		"policy is refused":             {mode: "closed", broke: func(b broken) { replace(t, filepath.Join(b.folder, "policy.yaml"), "version: 7\n") }, seen: 4, firing: []string{"WeirReloadFailed"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := servertest.Start(t, servertest.Redis, nil)
			proxy := servertest.NewProxy(t, server.Addr())
			t.Cleanup(func() { proxy.DelayReplies(0) })
			config := onServer(proxy.Addr(), c.mode, "policy: {file: policy.yaml, refresh: 10ms}\n")
			folder := files(t, "weir.yaml", strings.Replace(config, "timeout: 1s", "timeout: "+cmp.Or(c.timeout, "10s"), 1),
				"policy.yaml", strings.Replace(userPolicy, "10/1h", "100000/1h", 1))
			r := run(t, load(t, folder), nil)
			eventually(t, "an answer", func() bool {
				_, err := r.CheckRateLimit(t.Context(), user("first"))
				return err == nil
			})
			rec := &recording{series: map[string][]string{}}
			for reading := range before + after {
				if reading == before {
					c.broke(broken{server, proxy, folder})
					if slices.Contains(c.firing, "WeirReloadFailed") {
						eventually(t, "a failed reload", func() bool { return r.metric(t, failedReloads, "") == "1" })
					}
				}
				r.CheckRateLimit(t.Context(), user("u")) // an error is what is counted
				_, page := r.metricsPage(t, "")
				rec.read(page)
			}
			which, quiet := butSlow, before
			if slices.Contains(c.firing, "WeirSlow") {
				which, quiet = slow, 0
			} else if c.timeout != "" {
				quiet = 0
			}
			file := filepath.Join(t.TempDir(), "test.yaml")
			if err := os.WriteFile(file, []byte(rec.expect(rules, which, quiet, cmp.Or(c.seen, after)+before, c.firing)), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), tool, "test", "rules", file)
			var out bytes.Buffer
			command.Stdout, command.Stderr = &out, &out
			if err := command.Run(); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}
