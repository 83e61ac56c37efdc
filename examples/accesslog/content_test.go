package main

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClientsHaveDocumentationAddresses(t *testing.T) {
	entries, _ := readLog(t)
	for _, e := range entries {
		reserved := slices.ContainsFunc([]string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"},
			func(network string) bool { return netip.MustParsePrefix(network).Contains(e.client) })
		if !reserved {
			t.Errorf("%s is not reserved for documentation", e.client)
		}
	}
}

func TestSitesEndInExample(t *testing.T) {
	for _, site := range regexp.MustCompile(`https?://[^/" )]+`).FindAllString(readFile(t, "access.log"), -1) {
		if !strings.HasSuffix(site, ".example") {
			t.Errorf("%s is not reserved for documentation", site)
		}
	}
}

func TestTimesLieOnTheDay(t *testing.T) {
	entries, _ := readLog(t)
	first := time.Date(2026, 2, 3, 0, 0, 0, 0, time.FixedZone("", 3600))
	for _, e := range entries {
		if e.at.Before(first) || !e.at.Before(first.Add(24*time.Hour)) {
			t.Errorf("%s is not on the day", e.at)
		}
		if _, offset := e.at.Zone(); offset != 3600 {
			t.Errorf("%s is not in the zone +0100", e.at)
		}
	}
}

func TestAfternoonIsBusierThanNight(t *testing.T) {
	entries, _ := readLog(t)
	between := func(from, to int) (count int) {
		for _, e := range entries {
			if hour := e.at.Hour(); from <= hour && hour < to && e.client != crawler.address && e.client != guesser.address {
				count++
			}
		}
		return count
	}
	if night, afternoon := between(1, 6), between(13, 18); afternoon < 5*night {
		t.Errorf("%d lines from 1 to 6, %d from 13 to 18, want at least five times as many", night, afternoon)
	}
}

func TestSixScriptsBurst(t *testing.T) {
	entries, _ := readLog(t)
	const tens, within = 20, 5 * time.Second
	times := map[netip.Addr][]time.Time{}
	for _, e := range entries {
		times[e.client] = append(times[e.client], e.at)
	}
	bursting := 0
	for _, at := range times {
		slices.SortFunc(at, time.Time.Compare)
		for i := tens; i <= len(at); i++ {
			if at[i-1].Sub(at[i-tens]) <= within {
				bursting++
				break
			}
		}
	}
	if bursting != 6 {
		t.Errorf("%d clients sent %d requests within %s, want 6", bursting, tens, within)
	}
}

func TestCrawlerWalksManyPathsAtOnePace(t *testing.T) {
	entries, _ := readLog(t)
	paths := map[string]bool{}
	var last time.Time
	for _, e := range entries {
		if strings.Contains(e.agent, "Bot") != (e.client == crawler.address) {
			t.Errorf("%s calls itself %q", e.client, e.agent)
		}
		if e.client != crawler.address {
			continue
		}
		if paths[e.path] {
			t.Errorf("the crawler reads %s twice", e.path)
		}
		paths[e.path] = true
		// A damaged line leaves a gap of two steps.
		if gap := e.at.Sub(last); !last.IsZero() && (gap < 7*time.Minute || gap > 17*time.Minute) {
			t.Errorf("the crawler pauses for %s before %s", gap, e.path)
		}
		last = e.at
	}
	if len(paths) < 170 {
		t.Errorf("the crawler reads %d paths, want at least 170", len(paths))
	}
}

func TestGuesserOnlyFailsToLogIn(t *testing.T) {
	entries, _ := readLog(t)
	guesses, others := 0, 0
	for _, e := range entries {
		login := e.method == "POST" && e.path == "/login"
		switch {
		case e.client == guesser.address && (!login || e.status != "401"):
			t.Errorf("the guesser sent %s %s with status %s", e.method, e.path, e.status)
		case e.client == guesser.address:
			guesses++
		case login:
			others++
		}
	}
	if guesses < 100 || others == 0 || others > guesses/5 {
		t.Errorf("%d logins of the guesser and %d of others, want at least 100 and a few", guesses, others)
	}
}

func TestAssetsFollowTheirPage(t *testing.T) {
	entries, _ := readLog(t)
	type view struct {
		client netip.Addr
		url    string
	}
	viewed := map[view]time.Time{}
	assets := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.path, "/static/") && !strings.HasPrefix(e.path, "/covers/") {
			viewed[view{e.client, origin + e.path}] = e.at
			continue
		}
		assets++
		at, found := viewed[view{e.client, e.referer}]
		if gap := e.at.Sub(at); !found || gap > time.Second {
			t.Errorf("%s fetches %s at %s, but did not open %q within the second before", e.client, e.path, e.at, e.referer)
		}
	}
	if assets < 300 {
		t.Errorf("%d assets, want at least 300", assets)
	}
}
