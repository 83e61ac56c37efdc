package clienttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// timeOutEndsADirectCall: a caller who makes the call itself is answered when its time is up,
// also by a server that hangs, and the next ones are served when it is back.
func timeOutEndsADirectCall(t *testing.T, lib *Library) {
	const timeout = 50 * time.Millisecond
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		direct := false
		for _, mode := range lib.Few {
			o := lib.Open(t, At{Addr: s.Addr(), Mode: mode, Answer: time.Minute})
			punctual, is := o.Client.(script.Punctual)
			if !is {
				t.Fatal("the client is not Punctual")
			}
			states, err := script.New(o.Client, nil)
			if err != nil {
				t.Fatal(err)
			}
			in := store.FeaturesOf(states).Within(timeout)
			servertest.Await(t, "the connections are made", func() bool {
				_, _, err := in.Apply(context.Background(), take())
				return err == nil && (punctual.HonorsDeadline() || mode != lib.Few[len(lib.Few)-1])
			})
			direct = direct || punctual.HonorsDeadline()
			s.Freeze()
			for range 3 {
				start := time.Now()
				_, _, err := in.Apply(context.Background(), take())
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, store.ErrOutcomeUnknown) && !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s: %v", mode, err)
				}
				if took := time.Since(start); took < timeout || took > 10*time.Second {
					t.Errorf("%s: answered after %v, want %v", mode, took, timeout)
				}
			}
			s.Thaw()
			servertest.Await(t, "the server decides again", func() bool {
				_, _, err := in.Apply(context.Background(), take())
				return err == nil
			})
			if err := states.Close(); err != nil {
				t.Error(err)
			}
		}
		if !direct {
			t.Error("no mode makes direct calls")
		}
	})
}
