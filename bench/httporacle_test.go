package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/realclientip/realclientip-go"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
)

// verdicts is 100,000 in scripts/long.
var verdicts = flag.Int("verdicts", 5_000, "random verdicts whose headers are parsed")

// newRandom returns a source whose seed is printed where the test fails.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// TestHeadersAreStructuredFields: an independent parser reads from the headers of random
// verdicts what the verdicts say.
func TestHeadersAreStructuredFields(t *testing.T) {
	random := newRandom(t)
	for range *verdicts {
		asks, result := randomResult(random)
		v := httplimit.VerdictOf(asks, result, nil)
		h := http.Header{}
		httplimit.Headers{}.Write(h, v)
		policies, err := httpsfv.UnmarshalList(h.Values("RateLimit-Policy"))
		if err != nil {
			t.Fatalf("%v: %q", err, h)
		}
		quotas, err := httpsfv.UnmarshalList(h.Values("RateLimit"))
		if err != nil {
			t.Fatalf("%v: %q", err, h)
		}
		if len(policies) != len(asks) || len(quotas) != len(asks) {
			t.Fatalf("%d limits: %q", len(asks), h)
		}
		for i, d := range result.Decisions {
			policy, quota := policies[i].(httpsfv.Item), quotas[i].(httpsfv.Item)
			if policy.Value.(string) != quota.Value.(string) {
				t.Fatalf("%q", h)
			}
			if name := asks[i].Limit.Name; isPrintable(name) && policy.Value.(string) != name {
				t.Fatalf("the name %q: %q", name, h)
			}
			if r, _ := quota.Params.Get("r"); r != d.Remaining {
				t.Fatalf("r of %+v: %q", d, h)
			}
			if q, ok := policy.Params.Get("q"); !ok || q.(int64) < 1 {
				t.Fatalf("q: %q", h)
			}
			if w, has := policy.Params.Get("w"); has && w.(int64) < 1 {
				t.Fatalf("w: %q", h)
			}
			until, has := quota.Params.Get("t")
			if !has {
				continue
			}
			seconds := until.(int64)
			longest := d.ResetAfter
			if !d.Allowed && d.RetryAfter != weir.Never {
				longest = d.RetryAfter
			}
			if seconds < 1 || seconds > int64((longest+time.Second-1)/time.Second) {
				t.Fatalf("t of %+v: %q", d, h)
			}
		}
	}
}

func isPrintable(name string) bool {
	return strings.IndexFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}

// randomResult returns what a Decider might.
func randomResult(random *rand.Rand) ([]weir.Ask, weir.Result) {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	var asks []weir.Ask
	result := weir.Result{Allowed: true}
	for i := range 1 + random.IntN(3) {
		units := 1 + random.Int64N(1_000_000)
		if random.IntN(4) == 0 {
			units = 1 + random.Int64N(5)
		}
		spec := fmt.Sprintf("%s:%d/%s", pick("gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-counter"), units, pick("1s", "1500ms", "1m", "24h", "7s"))
		name := fmt.Sprintf("%d%s", i, pick("", `"quoted"`, `back\slash`, "Grenze ü", "\x00\xff", "a b;c=d,e"))
		limit := weir.Must(weir.ParseLimit(name, spec))
		d := weir.Decision{Limit: units, Remaining: random.Int64N(units + 1), Allowed: random.IntN(2) == 0, At: time.Unix(1_764_288_000, 0)}
		switch random.IntN(4) {
		case 0:
			d.ResetAfter = 0
		case 1:
			d.ResetAfter = weir.Never
		default:
			d.ResetAfter = time.Duration(1+random.Int64N(1_576_800_000_000_000)) * time.Microsecond
		}
		if !d.Allowed {
			d.RetryAfter = time.Duration(1+random.Int64N(1_000_000_000)) * time.Microsecond
			if random.IntN(5) == 0 {
				d.RetryAfter = weir.Never
			}
			result.Allowed = false
		}
		asks = append(asks, limit.For("key"))
		result.Decisions = append(result.Decisions, d)
	}
	return asks, result
}

// answering is a base of a Transport that answers with one RateLimit.
type answering struct{ field string }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Ratelimit": {a.field}}, Body: http.NoBody, Request: r}, nil
}

// pausesAfter reports whether a Transport pauses after an answer with this field.
func pausesAfter(t *testing.T, field string) bool {
	t.Helper()
	transport := weir.Must(httplimit.NewTransport(&httplimit.TransportOptions{Base: answering{field}, MaxWait: -1}))
	r := httptest.NewRequest("GET", "http://example.org", nil)
	if _, err := transport.RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	_, err := transport.RoundTrip(r)
	return err != nil
}

// shouldPause is the same by an independent parser.
func shouldPause(field string) bool {
	list, err := httpsfv.UnmarshalList([]string{field})
	if err != nil {
		return false
	}
	pause := false
	for _, member := range list {
		item, isItem := member.(httpsfv.Item)
		if !isItem {
			return false
		}
		if _, isString := item.Value.(string); !isString {
			return false
		}
		remaining, _ := item.Params.Get("r")
		reset, _ := item.Params.Get("t")
		seconds, _ := reset.(int64)
		pause = pause || remaining == int64(0) && seconds > 0
	}
	return pause
}

// parts are what random fields are made of.
var parts = []string{
	`"a"`, `"a`, `"\""`, `"\a"`, ";r=0", ";t=3", ";r=1", ";t=-3", "; t=3.5", ";pk=:YQ==:", ";pk=:YQ=:", ";x", ";x=?1", ";x=?2", ";x=to/k:en*",
	`;x="s;,"`, ";*k=@17", ";x=@1.5", ";K=1", ";r=0;t=99", ", ", ",", "\t,", " ", ";r=00;t=01", ";t=1234567890123456", ";t=123456789012345", ";x=1.1234",
	";t=1.", ";x=-", ";r=-0", `"é"`, "token", "(", ")", ";x=1234567890123.1",
}

func TestTransportReadsStructuredFields(t *testing.T) {
	random := newRandom(t)
	fields := 20_000
	if testing.Short() {
		fields = 5_000
	}
	paused := 0
	for range fields {
		field := `"a"`
		for range random.IntN(6) {
			field += parts[random.IntN(len(parts))]
		}
		want := shouldPause(field)
		if got := pausesAfter(t, field); got != want {
			t.Fatalf("%q: pause %v, and by the other parser %v", field, got, want)
		}
		if want {
			paused++
		}
	}
	if paused < fields/100 {
		t.Errorf("only %d of %d fields ask for a pause: the test tries too little", paused, fields)
	}
}

// Differences from the other implementations, on purpose. A hop of such a text is left
// out of the comparison and tried by TestAddressDiffersOnPurpose.
var (
	// Proxies that write ports are read here; chi takes bare addresses only.
	withPort = []string{"203.0.113.5:80", "[2001:db8:5::1]:80", "[2001:db8:5::1]"}
	// An address without a value is no client here, and one to chi.
	unspecified = []string{"0.0.0.0", "::"}
	// realclientip-go takes any text as a port, and IPv4 in brackets.
	loose = []string{"203.0.113.5:http", "[203.0.113.5]"}
	// Empty elements are no hops by RFC 9110; realclientip-go stops at them.
	empty = []string{"", " "}
	// realclientip-go keeps a zone, and so does the address that it returns.
	zoned = []string{"fe80::7%eth0"}
)

// hops are read in the same way by all.
var hops = []string{"10.0.0.2", "10.9.8.7", "::ffff:10.0.0.3", "2001:db8:f::1", "203.0.113.9", "198.51.100.7", "2001:db8:1::9", "::ffff:203.0.113.8", "unknown", "rubbish", "203.0.113", "203.0.113.09", "1.2.3.4.5"}

var trusted = []string{"10.0.0.0/8", "2001:db8:f::/48"}

// clients returns who the client is for the three implementations, "" where there is
// none.
func clients(t *testing.T, ours *httplimit.ClientAddress, peer string, lines []string) (weirs, chis, realclientips string) {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = peer
	r.Header["X-Forwarded-For"] = lines
	if client, ok := ours.Find(peer, r.Header); ok {
		weirs = client.String()
	}
	middleware.ClientIPFromXFF(trusted...)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		chis = middleware.GetClientIP(r.Context())
	})).ServeHTTP(httptest.NewRecorder(), r)
	ranges, err := realclientip.AddressesAndRangesToIPNets(trusted...)
	if err != nil {
		t.Fatal(err)
	}
	strategy, err := realclientip.NewRightmostTrustedRangeStrategy("X-Forwarded-For", ranges)
	if err != nil {
		t.Fatal(err)
	}
	realclientips = strategy.ClientIP(r.Header, peer)
	return weirs, chis, realclientips
}

func TestAddressEqualsOtherImplementations(t *testing.T) {
	ours := weir.Must(httplimit.NewClientAddress(&httplimit.AddressOptions{Trusted: trusted}))
	random := newRandom(t)
	found := 0
	rounds := 10_000
	if testing.Short() {
		rounds = 2_000
	}
	for range rounds {
		var lines []string
		for range random.IntN(4) {
			var line []string
			for range 1 + random.IntN(4) {
				line = append(line, hops[random.IntN(len(hops))])
			}
			lines = append(lines, strings.Join(line, [...]string{",", ", ", " ,\t"}[random.IntN(3)]))
		}
		weirs, chis, realclientips := clients(t, ours, "10.0.0.1:1", lines)
		if weirs != chis || weirs != realclientips {
			t.Fatalf("%q: weir %q, chi %q, realclientip-go %q", lines, weirs, chis, realclientips)
		}
		if weirs != "" {
			found++
		}
		// realclientip-go does not look at the peer.
		if weirs, chis, _ := clients(t, ours, "198.51.100.1:1", lines); weirs != chis || weirs != "198.51.100.1" {
			t.Fatalf("%q of a peer that is not trusted: weir %q, chi %q", lines, weirs, chis)
		}
	}
	if found < rounds/10 {
		t.Errorf("a client was found in %d of %d: the test tries too little", found, rounds)
	}
}

func TestAddressDiffersOnPurpose(t *testing.T) {
	ours := weir.Must(httplimit.NewClientAddress(&httplimit.AddressOptions{Trusted: trusted}))
	for _, test := range []struct {
		hops                       []string
		weirs, chis, realclientips bool // who finds somebody in "203.0.113.9, HOP"
	}{
		{withPort, true, false, true},
		{unspecified, false, true, false},
		{loose, false, false, true},
		{empty, true, true, false},
		{zoned, true, true, true},
	} {
		for _, hop := range test.hops {
			weirs, chis, realclientips := clients(t, ours, "10.0.0.1:1", []string{"203.0.113.9, " + hop})
			if (weirs != "") != test.weirs || (chis != "") != test.chis || (realclientips != "") != test.realclientips {
				t.Errorf("%q: weir %q, chi %q, realclientip-go %q", hop, weirs, chis, realclientips)
			}
		}
	}
	if weirs, _, realclientips := clients(t, ours, "10.0.0.1:1", zoned); weirs != "fe80::7" || realclientips != "fe80::7%eth0" {
		t.Errorf("a zone: weir %q, realclientip-go %q", weirs, realclientips)
	}
}
