package target

import (
	"context"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/cmd/weir/internal/load"
	"github.com/weirgo/weir/internal/observed"
)

// Store is a limiter as a target. Closing it closes what is below it.
type Store struct {
	Limiter *weir.Limiter
	Below   func() error
}

// Ask implements load.Target.
func (s *Store) Ask(ctx context.Context, key string) load.Answer {
	d, err := s.Limiter.Allow(ctx, key)
	if err != nil {
		return load.Answer{Failure: observed.ClassOf(err)}
	}
	return load.Answer{Allowed: d.Allowed, Degraded: d.Degraded}
}

// Probe implements Target.
func (s *Store) Probe(ctx context.Context) error {
	_, err := s.Limiter.Peek(ctx, "weir")
	return err
}

// Close implements Target.
func (s *Store) Close() error { return s.Below() }
