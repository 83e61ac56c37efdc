package inflight

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirgo/weir/store"
)

// ErrExpired: the hold had expired when it was released, so that others may have had its
// units meanwhile. Nothing was changed.
var ErrExpired = errors.New("inflight: the hold had expired")

// Hold is the answer of an Acquire: units that are held until Release, or a refusal. It is
// safe for concurrent use.
//
// A Hold renews itself after each third of its life. Where the store has lost it, since it
// was restarted without its data or could not be reached for a life, it is acquired anew
// where there is room; where there is none it is lost, and Lost says so.
type Hold struct {
	limiter  *Limiter
	holder   Holder
	standing Standing
	allowed  bool
	cause    error
	counted  bool // the store holds it, or may
	unknown  bool // the store may not
	since    time.Time
	lost     chan struct{}

	turn sync.Mutex // of who calls the store
	mu   sync.Mutex // of what follows
	// until is up to when the hold has not expired, for sure.
	until    time.Time
	timer    *time.Timer // nil where nothing is renewed
	ended    bool        // Release was called
	released bool        // and was answered; guarded by turn
	isLost   bool
	ignored  bool
}

// Allowed reports whether the units are held, or weir.FailOpen allows to go on without.
func (h *Hold) Allowed() bool { return h.allowed }

// Standing is what the store has answered. It is zero where the store had no answer.
func (h *Hold) Standing() Standing { return h.standing }

// Cause is why the store had no answer where weir.FailOpen has allowed; else nil.
func (h *Hold) Cause() error { return h.cause }

// Lost returns a channel that is closed when the hold has expired before its Release, at
// most Options.Timeout later. Who must not be one too many stops then.
func (h *Hold) Lost() <-chan struct{} { return h.lost }

// Ignore keeps the latency of this hold from Options.Adaptive: where a request has failed
// early, say. It counts until Release.
func (h *Hold) Ignore() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ignored = true
}

// Release gives the units back. It does so also where ctx has ended: the call is bounded by
// Options.Timeout alone, and comes after a renewal in flight. On a refusal, and again after it has succeeded, it does nothing; so
// it can be deferred.
//
// ErrExpired says that the hold had expired; it is told once. With any other error the units
// may be still held, at most for a life: call Release again, or leave them to expire.
func (h *Hold) Release(ctx context.Context) error {
	if !h.allowed {
		return nil
	}
	h.end()
	h.turn.Lock() // a renewal in flight is over then
	defer h.turn.Unlock()
	if h.released || !h.counted {
		return nil
	}
	l := h.limiter
	s, err := l.call(context.WithoutCancel(ctx), func(ctx context.Context) (Standing, error) { return l.store.Release(ctx, h.holder) })
	if err != nil {
		h.unknown = h.unknown || errors.Is(err, store.ErrOutcomeUnknown)
		return fmt.Errorf("inflight: release: %w", err)
	}
	h.released = true
	l.queues.wake(h.holder.Key)
	if !s.Held && !h.unknown { // an unknown call may have released it
		h.lose()
		return ErrExpired
	}
	return nil
}

// end notes that the request is over: nothing is renewed any more.
func (h *Hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	if h.timer != nil {
		h.timer.Stop()
	}
	l := h.limiter
	l.counts.held.Add(-1)
	if l.gradient != nil && !h.ignored && h.cause == nil {
		l.gradient.done(l.clock.Now(), h.since, h.standing.InUse)
	}
}

// begin starts to renew a hold that was asked for at an instant.
func (h *Hold) begin(sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = sent.Add(h.holder.Life)
	h.timer = time.AfterFunc(h.holder.Life/3, h.renew)
}

// renew makes one renewal, and plans the next.
func (h *Hold) renew() {
	h.turn.Lock()
	defer h.turn.Unlock()
	if h.hasEnded() {
		return
	}
	l := h.limiter
	sent := time.Now()
	s, err := l.call(context.Background(), func(ctx context.Context) (Standing, error) { return l.store.Renew(ctx, h.holder) })
	if err == nil && !s.Held {
		s, err = l.call(context.Background(), func(ctx context.Context) (Standing, error) {
			return l.store.Acquire(ctx, h.holder, l.unitsFor(h.holder.Cost))
		})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch next := h.holder.Life / 3; {
	case err == nil && s.Held:
		h.unknown = false
		h.until = sent.Add(h.holder.Life)
		h.plan(next)
	case err == nil || !time.Now().Before(h.until):
		h.loseLocked()
		h.plan(next) // it may be acquired again: what is in flight is to be counted
	default:
		h.plan(min(next/4, time.Until(h.until)))
	}
}

// plan plans the next renewal, unless the hold has ended.
func (h *Hold) plan(after time.Duration) {
	if !h.ended {
		h.timer.Reset(after)
	}
}

func (h *Hold) hasEnded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

func (h *Hold) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loseLocked()
}

func (h *Hold) loseLocked() {
	if !h.isLost {
		h.isLost = true
		h.limiter.counts.lost.Add(1)
		close(h.lost)
	}
}
