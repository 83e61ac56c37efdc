package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/store/script"
)

var _ script.Subscriber = (*client)(nil)

// quiet is how long a subscription hears nothing before it asks whether the connection
// is alive. A second silence ends it.
const quiet = 5 * time.Second

// Subscribe implements script.Subscriber.
func (c *client) Subscribe(ctx context.Context, channel string, message func()) error {
	subscription := c.redis.Subscribe(ctx, channel)
	defer subscription.Close() // nothing is lost where that fails
	// A read does not end with its context.
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer stop()
	asked := false
	for {
		received, err := subscription.ReceiveTimeout(ctx, quiet)
		var silent net.Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &silent) && silent.Timeout() && !asked:
			asked = true
			if err := subscription.Ping(ctx); err != nil {
				return fmt.Errorf("redisstore: subscribe: %w", err)
			}
			continue
		case err != nil:
			return fmt.Errorf("redisstore: subscribe: %w", err)
		}
		asked = false
		switch received.(type) {
		case *redis.Message, *redis.Subscription:
			message()
		}
	}
}
