package deadline

import (
	"context"
	"time"

	"github.com/weirgo/weir/store"
)

// Sleep waits for d, or until ctx ends or closed is closed, and returns that as an error:
// the error of ctx, or store.ErrClosed. closed may be nil. It starts no goroutine.
func Sleep(ctx context.Context, d time.Duration, closed <-chan struct{}) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-closed:
		return store.ErrClosed
	}
}
