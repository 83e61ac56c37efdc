package valkeystore

import (
	"context"
	"fmt"
	"sync"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/store/script"
)

var _ script.Subscriber = (*client)(nil)

// Subscribe implements script.Subscriber. valkey-go subscribes anew by itself, and says
// so to the hook.
func (c *client) Subscribe(ctx context.Context, channel string, message func()) error {
	var mu sync.Mutex // valkey-go may call a hook when Receive has returned
	ended := false
	notify := func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			message()
		}
	}
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}()
	hooked := valkey.WithOnSubscriptionHook(ctx, func(valkey.PubSubSubscription) { notify() })
	err := c.valkey.Receive(hooked, c.valkey.B().Subscribe().Channel(channel).Build(), func(valkey.PubSubMessage) { notify() })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("valkeystore: subscribe: %w", err)
	}
	return nil // the server has ended the subscription
}
