package weir_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

func TestAllowOnceCountsOnce(t *testing.T) {
	s, mock := onMock(t)
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("api", "gcra:10/1m")), nil))
	ctx := context.Background()
	first, err := l.AllowOnce(ctx, "a", 3, "request 1")
	if err != nil || !first.Allowed || first.Remaining != 7 {
		t.Fatal(first, err)
	}
	mock.Add(time.Second)
	if again, err := l.AllowOnce(ctx, "a", 3, "request 1"); err != nil || again != first {
		t.Errorf("%+v, %v; want %+v", again, err, first)
	}
	if other, err := l.AllowOnce(ctx, "a", 3, "request 2"); err != nil || other.Remaining != 4 {
		t.Errorf("%+v, %v", other, err)
	}
	if d, err := l.AllowOnce(ctx, "a", 4, "request 1"); !errors.Is(err, store.ErrIDReused) || d.Allowed {
		t.Errorf("another cost: %+v, %v", d, err)
	}
	if d, err := l.AllowOnce(ctx, "a", 9, "request 3"); err != nil || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	mock.Add(time.Minute)
	if d, err := l.AllowOnce(ctx, "a", 9, "request 3"); err != nil || !d.Allowed {
		t.Errorf("a denied one is not decided anew: %+v, %v", d, err)
	}
	if d, err := l.AllowOnce(ctx, "a", -1, "request 4"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("below 0: %+v, %v", d, err)
	}
	if d, err := l.AllowOnce(ctx, "a", 1, ""); err != nil || d.Remaining != 0 {
		t.Errorf("without an ID: %+v, %v", d, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AllowOnce(ctx, "a", 3, "request 1"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestTakeWithAnIDCountsOnce(t *testing.T) {
	s, _ := onMock(t)
	m := weir.Must(weir.NewMultiLimiter(s, nil))
	ctx := context.Background()
	user, org := weir.Must(weir.ParseLimit("user", "sliding-log:10/1m")), weir.Must(weir.ParseLimit("org", "token-bucket:100/1m"))
	asks := weir.Once("r1", user.ForN("u", 2), org.Charge("o", 7))
	first, err := m.Take(ctx, asks...)
	if err != nil || !first.Allowed {
		t.Fatal(first, err)
	}
	if again, err := m.Take(ctx, asks...); err != nil || again.Decisions[0] != first.Decisions[0] || again.Decisions[1] != first.Decisions[1] || again.Binding != first.Binding {
		t.Errorf("%+v, %v; want %+v", again, err, first)
	}
	if look, err := m.Peek(ctx, asks...); err != nil || look.Decisions[0].Remaining != 6 || look.Decisions[1].Remaining != 86 {
		t.Errorf("a Peek ignores the ID: %+v, %v", look, err)
	}
	if look, err := m.Peek(ctx, asks[0], org.For("o")); err != nil || !look.Allowed {
		t.Errorf("a Peek ignores IDs that differ: %+v, %v", look, err)
	}
	if _, err := m.Wait(ctx, asks[0]); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a Wait with an ID: %v", err)
	}
	if _, err := m.Take(ctx, asks[0], org.For("o")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("with an ID and without: %v", err)
	}
	if asks := []weir.Ask{user.For("u")}; weir.Once("x", asks...)[0].ID != "x" || asks[0].ID != "" {
		t.Error("Once has changed what it was given")
	}
}

func TestStoreThatKnowsNoIDsSaysSo(t *testing.T) {
	s, _ := onMock(t)
	plain := struct{ store.Store }{s}
	ctx := context.Background()
	for _, mode := range []weir.FailureMode{weir.FailClosed, weir.FailOpen} {
		l := weir.Must(weir.New(plain, weir.Must(weir.ParseLimit("api", "gcra:10/1m")), &weir.Options{OnFailure: mode, Replaces: true}))
		if d, err := l.AllowOnce(ctx, "a", 1, "x"); !errors.Is(err, store.ErrUnsupported) || d.Allowed {
			t.Errorf("%v: %+v, %v", mode, d, err)
		}
		if d, err := l.Allow(ctx, "a"); err != nil || !d.Allowed {
			t.Errorf("%v: without an ID: %+v, %v", mode, d, err)
		}
	}
}

func TestResolveEndsWhereTheOutcomeIsKnown(t *testing.T) {
	unknown := store.ErrOutcomeUnknown
	for name, c := range map[string]struct {
		errs []error // of the calls
		want []error // that the answer matches
	}{
		"known at first":         {errs: []error{nil}},
		"unavailable at first":   {errs: []error{store.ErrUnavailable}, want: []error{store.ErrUnavailable}},
		"known then":             {errs: []error{unknown, unknown, nil}},
		"a server that restarts": {errs: []error{unknown, store.ErrUnavailable, store.ErrContention, nil}},
		"a debt":                 {errs: []error{unknown, &weir.DebtError{}}, want: []error{&weir.DebtError{}}},
		"settled by others":      {errs: []error{unknown, weir.ErrSettled}, want: []error{weir.ErrSettled}},
		"closed meanwhile":       {errs: []error{unknown, store.ErrClosed}, want: []error{unknown, store.ErrClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := weir.Resolve(t.Context(), func(context.Context) error { calls++; return c.errs[calls-1] })
				if calls != len(c.errs) || (err == nil) != (len(c.want) == 0) {
					t.Errorf("%d calls, %v", calls, err)
				}
				for _, target := range c.want {
					var debt *weir.DebtError
					if !errors.Is(err, target) && !(errors.As(target, &debt) && errors.As(err, &debt)) {
						t.Errorf("%v does not match %v", err, target)
					}
				}
			})
		})
	}
}

func TestResolveEndsWithItsContextOrAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func(context.Context) error { return store.ErrOutcomeUnknown }
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if err := weir.Resolve(ctx, never); !errors.Is(err, store.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		start = time.Now()
		if err := weir.Resolve(t.Context(), never); !errors.Is(err, store.ErrOutcomeUnknown) || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestLimiterResolvesByItself: every verb, and what a failure mode answers is what is
// still unknown afterwards.
func TestLimiterResolvesByItself(t *testing.T) {
	inner, _ := onMock(t)
	lost := 0
	s := store.Wrap(inner, store.Hooks{Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
		at, committed, err := next(ctx, o, ops)
		if lost--; lost >= 0 {
			return 0, false, store.ErrOutcomeUnknown
		}
		return at, committed, err
	}, IO: true})
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("api", "gcra:10/1m")), &weir.Options{ResolveWithin: time.Minute, Timeout: time.Minute}))
	ctx := context.Background()
	at := weir.Must(l.Peek(ctx, "a")).At
	for i, call := range []func() (weir.Decision, error){
		func() (weir.Decision, error) { return l.Allow(ctx, "a") },
		func() (weir.Decision, error) { return l.AllowOnce(ctx, "a", 1, "x") },
		func() (weir.Decision, error) { return l.Charge(ctx, "a", 1) },
		func() (weir.Decision, error) { return l.Wait(ctx, "a") },
		func() (weir.Decision, error) { return l.Refund(ctx, "a", 3, at) },
	} {
		lost = 2
		want := []int64{9, 8, 7, 6, 9}[i]
		if d, err := call(); err != nil || !d.Allowed || d.Remaining != want || lost >= 0 {
			t.Errorf("call %d: %+v, %v; want %d left", i, d, err, want)
		}
	}
	open := weir.Must(weir.New(s, l.Limit(), &weir.Options{ResolveWithin: time.Millisecond, OnFailure: weir.FailOpen}))
	lost = 1 << 30
	if d, err := open.Allow(ctx, "a"); err != nil || !d.Degraded || !errors.Is(d.Cause, store.ErrOutcomeUnknown) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestIDOutlivesWhatResolvesByItself: what is asked for when its ID is forgotten
// is charged twice.
func TestIDOutlivesWhatResolvesByItself(t *testing.T) {
	s, _ := onMock(t)
	const ttl, timeout = time.Second, 300 * time.Millisecond
	for within, refused := range map[time.Duration]bool{ttl: true, ttl - timeout + 1: true, ttl - timeout: false} {
		_, err := weir.NewMultiLimiter(s, &weir.Options{IDTTL: ttl, Timeout: timeout, ResolveWithin: within})
		if refused != errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v: %v", within, err)
		}
	}
	for timeout, refused := range map[time.Duration]bool{9 * time.Minute: false, 10 * time.Minute: true, time.Hour: true} {
		_, err := weir.NewMultiLimiter(s, &weir.Options{Timeout: timeout, ResolveWithin: time.Minute})
		if refused != errors.Is(err, store.ErrInvalid) {
			t.Errorf("a time-out of %v: %v", timeout, err)
		}
	}
}

// TestLocalStoreOfOneThatResolvesNeedsNoIDs: it is asked once.
func TestLocalStoreOfOneThatResolvesNeedsNoIDs(t *testing.T) {
	inner, _ := onMock(t)
	local, _ := onMock(t)
	down := store.Wrap(inner, store.Hooks{Once: func(context.Context, store.Once, []store.Op, store.OnceFunc) (algorithm.Instant, bool, error) {
		return 0, false, store.ErrUnavailable
	}})
	l := weir.Must(weir.New(down, weir.Must(weir.ParseLimit("api", "gcra:10/1m")), &weir.Options{
		ResolveWithin: time.Second, OnFailure: weir.FailLocal, Local: struct{ store.Store }{local},
	}))
	if d, err := l.Allow(context.Background(), "a"); err != nil || !d.Degraded || d.Remaining != 9 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := l.AllowOnce(context.Background(), "a", 1, "x"); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("with an ID of the caller: %+v, %v", d, err)
	}
}

func TestReservationTextIsRead(t *testing.T) {
	s, mock := onMock(t)
	ctx := context.Background()
	key := []byte("0123456789abcdef")
	user, org := weir.Must(weir.ParseLimit("user \xff\"", "sliding-log:10/1m")), weir.Must(weir.ParseLimit("org", "fixed-window:100/1m"))
	for name, opts := range map[string]weir.Options{"signed": {ReservationKey: key}, "not signed": {}} {
		m := weir.Must(weir.NewMultiLimiter(s, &opts))
		r := weir.Must(m.Reserve(ctx, user.ForN("u\x00\xfe", 4), org.ForN("o", 50)))
		text, err := r.MarshalText()
		if err != nil || bytes.ContainsAny(text, " \n\"") {
			t.Fatalf("%s: %q, %v", name, text, err)
		}
		mock.Add(time.Second)
		there := weir.Must(weir.NewMultiLimiter(s, &opts))
		back, err := there.Resume(text, org, user)
		if err != nil || !back.Allowed() || !back.Decision().At.Equal(r.Decision().At) {
			t.Fatal(back, err)
		}
		if again, err := back.MarshalText(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s: read and written: %q, %v; want %q", name, again, err, text)
		}
		if got, err := back.Settle(ctx, 1, 10); err != nil || got.Charged[1] != 10 || got.Decisions[0].Remaining != 9 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if got, err := r.Settle(ctx, 1, 10); err != nil || got.Decisions[1].Remaining != 90 {
			t.Errorf("%s: the first process, with the same costs: %+v, %v", name, got, err)
		}
		if err := s.Reset(ctx, []store.Slot{{Key: "u\x00\xfe", Limit: user.Name, Algorithm: user.Algorithm}, {Key: "o", Limit: "org", Algorithm: org.Algorithm}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTextOfADeniedReservationIsRead: also where the cost was above everything.
func TestTextOfADeniedReservationIsRead(t *testing.T) {
	s, _ := onMock(t)
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("tokens", "gcra:10/1m")), nil))
	for _, cost := range []int64{11, algorithm.MaxUnits + 1, 1<<63 - 1} {
		text, err := weir.Must(l.Reserve(context.Background(), "a", cost)).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Resume(text)
		if err != nil || r.Allowed() {
			t.Fatal(r, err)
		}
		if got, err := r.Settle(context.Background(), 1); err != nil || got.Charged[0] != 0 || remaining(t, l, "a") != 10 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestReservationTextThatIsChangedIsRefused(t *testing.T) {
	s, _ := onMock(t)
	ctx := context.Background()
	limit := weir.Must(weir.ParseLimit("tokens", "fixed-window:10/1m"))
	signed := weir.Must(weir.New(s, limit, &weir.Options{ReservationKey: []byte("0123456789abcdef")}))
	plain := weir.Must(weir.New(s, limit, nil))
	text := func(l *weir.Limiter) string {
		b, err := weir.Must(l.Reserve(ctx, "a secret key", 1)).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	refused := func(l *weir.Limiter, what, text string) {
		t.Helper()
		if r, err := l.Resume([]byte(text)); !errors.Is(err, store.ErrInvalid) || r != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is taken: %v, %v", what, r, err)
		}
	}
	good := text(signed)
	for i := range good { // every byte counts
		damaged := []byte(good)
		damaged[i] ^= 1
		refused(signed, "a text with another byte", string(damaged))
		refused(signed, "a shorter text", good[:i])
	}
	refused(signed, "a text of somebody without the key", text(plain))
	refused(plain, "a text of somebody with a key", good)
	refused(plain, "nothing", "")
	refused(plain, "a dot", ".")

	// Without a key, whoever knows how can change a text. What no reservation has is refused.
	parts := strings.Split(text(plain), ".")
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		`"cost":1`: `"cost":-1`, `"cost":1}`: `"cost":1000000000001}`, `{"id"`: `{"more":1,"id"`, `"asks":[{`: `"asks":[],"asked":[{`,
		`"key":"YSBzZWNyZXQga2V5"`: `"key":""`, `"kind":"fixed-window/1@1m"`: `"kind":"fixed-window/1@2m"`, `"limit":"`: `"limit":"AAAA`, `"id":"`: `"id":"` + strings.Repeat("x", 200), `"at":`: `"at":-`,
	} {
		changed := strings.Replace(string(body), from, to, 1)
		if changed == string(body) {
			t.Fatalf("%s is not in %s", from, body)
		}
		refused(plain, to, sealed(parts[0]+"."+base64.RawURLEncoding.EncodeToString([]byte(changed))))
	}
	if _, err := plain.Resume([]byte(sealed(parts[0] + "." + parts[1]))); err != nil {
		t.Errorf("as it was: %v", err)
	}
	refused(plain, "another version", sealed("weir-reservation-2."+parts[1]))

	other := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("tokens", "fixed-window:10/2m")), &weir.Options{Replaces: true}))
	refused(other, "a limit of another period", text(plain))
}

// sealed adds what a text without a key ends with.
func sealed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(sum[:16])
}
