package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestNoAttemptIsLaterThanTheKeyIsRemembered: with many short attempts the pauses between
// them take longer than the service remembers a key.
func TestNoAttemptIsLaterThanTheKeyIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, err := (&Options{Attempts: 20_000, Timeout: 12 * time.Millisecond}).withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		c := &Client{opts: opts}
		began := time.Now()
		var ended time.Duration
		attempts := 0
		_, err = send(WithIdempotencyKey(t.Context(), "once"), c, func(ctx context.Context, _ int, _ ...grpc.CallOption) (int, error) {
			<-ctx.Done() // its time-out
			attempts++
			ended = time.Since(began)
			return 0, status.FromContextError(ctx.Err()).Err()
		}, 0)
		if status.Code(err) != codes.DeadlineExceeded || !err.(*Error).MayHaveCounted || err.(*Error).Attempts != attempts {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		if ended > remembered || ended < remembered-time.Second {
			t.Errorf("the last of %d attempts ended after %s, want %s or shortly before", attempts, ended, remembered)
		}
	})
}
