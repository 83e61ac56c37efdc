package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/load"
	"github.com/weirgo/weir/cmd/weir/internal/load/target"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// openStore opens a limiter on a store. What it writes on a server is removed when it is
// closed.
func (c *loadCommand) openStore(ctx context.Context, options *load.Options) (target.Target, string, error) {
	u, err := storeurl.Parse(c.URL)
	if err != nil {
		return nil, "", usageError{fmt.Errorf("the URL %w, or a service: %s", err, target.ServiceForms)}
	}
	on := &endpoint{shown: u.String(), server: !u.InMemory(), url: u}
	if c.Limit == "" {
		return nil, "", usageError{errors.New("--limit is missing: must be there for a store, such as gcra:100/1s")}
	}
	a, err := algorithm.ParseSpec(c.Limit)
	if err != nil {
		return nil, "", usageError{fmt.Errorf("--limit: %w", err)}
	}
	options.Keys.Prefix = "user:"
	s, below, err := c.storeAt(ctx, on)
	if err != nil {
		return nil, "", err
	}
	limiter, err := weir.New(s, weir.Limit{Name: "load", Algorithm: a}, &weir.Options{Timeout: *c.Timeout})
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("%s: %w", on.shown, err), below())
	}
	return &target.Store{Limiter: limiter, Below: below}, on.shown, nil
}

// storeAt opens the store, and returns what closes it.
func (c *loadCommand) storeAt(ctx context.Context, on *endpoint) (store.Store, func() error, error) {
	if !on.server {
		s, err := memorystore.New(nil)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	made, err := openScratch(ctx, on, randomPrefix("weir-load:"), 0, false)
	if err != nil {
		return nil, nil, err
	}
	made.timeout = *c.Timeout
	s, err := made.open(made.prefix, nil)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", on.shown, err), made.Close())
	}
	return s, made.Close, nil
}
