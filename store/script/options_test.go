package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// TestOptionsOutOfBoundsAreRefused: by the name of the field, the value, and what is
// allowed.
func TestOptionsOutOfBoundsAreRefused(t *testing.T) {
	one := Source{Kind: "mine/1", Lua: luaOfUser}
	for _, test := range []struct {
		opts                  Options
		field, value, allowed string
	}{
		{Options{Share: -1}, "Options.Share", "-1", "0 to 1000"},
		{Options{Share: 1001}, "Options.Share", "1001", "0 to 1000"},
		{Options{Share: math.MinInt}, "Options.Share", fmt.Sprint(math.MinInt), "0 to 1000"},
		{Options{Share: math.MaxInt}, "Options.Share", fmt.Sprint(math.MaxInt), "0 to 1000"},
		{Options{InFlight: -1}, "Options.InFlight", "-1", "0 to 100"},
		{Options{InFlight: 101}, "Options.InFlight", "101", "0 to 100"},
		{Options{InFlight: math.MaxInt}, "Options.InFlight", fmt.Sprint(math.MaxInt), "0 to 100"},
		{Options{Timeout: -1}, "Options.Timeout", "-1ns", "0 or more"},
		{Options{Timeout: math.MinInt64}, "Options.Timeout", "-2562047h47m16.854775808s", "0 or more"},
		{Options{Replicas: -1}, "Options.Replicas", "-1", "0 to 100"},
		{Options{Replicas: 101}, "Options.Replicas", "101", "0 to 100"},
		{Options{Replicas: 1}, "Options.Replicas", "1", "0 with a client that is no Replicator"},
		{Options{ReplicaTimeout: -1}, "Options.ReplicaTimeout", "-1ns", "0, or 1ms to Options.Timeout"},
		{Options{ReplicaTimeout: time.Microsecond}, "Options.ReplicaTimeout", "1µs", "0, or 1ms to Options.Timeout"},
		{Options{ReplicaTimeout: 2 * time.Second, Timeout: time.Second}, "Options.ReplicaTimeout", "2s", "0, or 1ms to Options.Timeout"},
		{Options{Prefix: "a{b"}, "Options.Prefix", `"a{b"`, "at most 200 bytes without braces"},
		{Options{Prefix: "}"}, "Options.Prefix", `"}"`, "at most 200 bytes without braces"},
		{Options{Scripts: []Source{{}}}, "Options.Scripts[0]", `""`, "a Source with Kind and Lua"},
		{Options{Scripts: []Source{one, {Kind: "other/1"}}}, "Options.Scripts[1]", `"other/1"`, "a Source with Kind and Lua"},
		{Options{Scripts: []Source{{Lua: luaOfUser}}}, "Options.Scripts[0]", `""`, "a Source with Kind and Lua"},
		{Options{Scripts: []Source{one, one}}, "Options.Scripts[1].Kind", `"mine/1"`, "a kind without Lua so far"},
		{Options{Scripts: []Source{{Kind: algorithm.KindGCRA, Lua: luaOfUser}}}, "Options.Scripts[0].Kind", `"gcra/1"`, "a kind without Lua so far"},
		{Options{Scripts: []Source{{Kind: algorithm.KindSlidingLog, Lua: luaOfUser}}}, "Options.Scripts[0].Kind", `"sliding-log/1"`, "a kind without Lua so far"},
	} {
		s, err := New(unused, &test.opts)
		var input *store.InputError
		if s != nil || !errors.As(err, &input) || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", test.opts, err)
			continue
		}
		if input.Op != -1 || input.Field != test.field || input.Value != test.value || input.Allowed != test.allowed {
			t.Errorf("%+v: %+v", test.opts, *input)
		}
		for _, part := range []string{test.field, test.value, test.allowed} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %s", err, part)
			}
		}
	}
}

func TestOptionsOfZeroAreTheDefaults(t *testing.T) {
	for _, opts := range []*Options{nil, {}} {
		s := open(t, unused, opts)
		got := [5]any{s.opts.Prefix, s.opts.Share, s.opts.InFlight, s.opts.Timeout, s.opts.Clock}
		if want := [5]any{"w", 128, 2, 3 * time.Second, nil}; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	most := &Options{Prefix: strings.Repeat("p", 200), Share: 1000, InFlight: 100, Timeout: math.MaxInt64, Scripts: []Source{{Kind: "mine/1", Lua: luaOfUser}}}
	given := *most
	s := open(t, unused, most)
	if s.opts.Share != 1000 || s.opts.InFlight != 100 || s.opts.Timeout != math.MaxInt64 || len(s.opts.Prefix) != 200 {
		t.Errorf("%+v", s.opts)
	}
	if most.Share != given.Share || most.Timeout != given.Timeout || most.Scripts[0].Request != nil || most.Scripts[0].Limit != nil {
		t.Error("the options of the caller were changed")
	}
}

// TestLongestTimeoutOverflowsNothing: a call with it is sent.
func TestLongestTimeoutOverflowsNothing(t *testing.T) {
	onOneServer(t, &Options{Timeout: math.MaxInt64}, func(t *testing.T, s *Store, h *manualClient) {
		c := start(s, true, "k")
		call := h.next(t)
		if deadline, has := call.ctx.Deadline(); !has || deadline.Before(time.Now()) {
			t.Errorf("the call has the deadline %v, and it is %v", deadline, time.Now())
		}
		call.admit()
		c.wantAdmitted(t, "k")
	})
}

func TestStoreWithoutAClientIsRefused(t *testing.T) {
	var none *wire
	for name, client := range map[string]Client{"nil": nil, "nil pointer": none} {
		s, err := New(client, nil)
		var input *store.InputError
		if s != nil || !errors.As(err, &input) || input.Field != "Client" || input.Value != "nil" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// clockAt is a clock that shows any time.
type clockAt time.Time

func (c clockAt) Now() time.Time { return time.Time(c) }

// TestClockOutsideTheInstantsSendsNothing: what it shows is named, and the call was
// certainly not made.
func TestClockOutsideTheInstantsSendsNothing(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(-1, 0), algorithm.MaxInstant.Time().Add(time.Microsecond), time.Unix(1<<40, 0)} {
		s := open(t, unused, &Options{Clock: clockAt(at)})
		for name, call := range calls(s) {
			if name == "reset" {
				continue // needs no clock
			}
			err := call()
			var parameter *algorithm.ParameterError
			if !errors.As(err, &parameter) {
				t.Errorf("%s at %v: %v", name, at, err)
			}
			for _, meaning := range meanings {
				if errors.Is(err, meaning) {
					t.Errorf("%s at %v: %v", name, at, err)
				}
			}
		}
	}
	for _, at := range []time.Time{time.Unix(0, 0), algorithm.MaxInstant.Time(), algorithm.MaxInstant.Time().Add(999)} {
		var sent []string
		s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
			sent = slices.Clone(c.Args)
			return "", nil
		}), &Options{Clock: clockAt(at)})
		_ = calls(s)["apply single"]()
		if want := fmt.Sprint(at.UnixMicro()); len(sent) < 6 || sent[4] != want || sent[5] != "3600000" {
			t.Errorf("at %v: %v", at, sent)
		}
	}
}
