package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// reader is a hook that looks at everything while a command is on its way.
type reader struct{}

func (reader) DialHook(next redis.DialHook) redis.DialHook { return next }

func (reader) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		_ = fmt.Sprint(cmd.Name(), cmd.FullName(), cmd.String(), cmd.Args(), cmd.Err())
		return err
	}
}

func (reader) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
