package main

import (
	"context"
	"fmt"

	"github.com/weirgo/weir/internal/storeurl"
)

// endpoint is where a store URL leads.
type endpoint struct {
	shown  string // the URL without user and password
	server bool   // and not memory
	url    *storeurl.URL
}

// flag is what a command line needs to come here again: "" for memory.
func (e *endpoint) flag() string {
	if !e.server {
		return ""
	}
	return " --store " + shellWord(e.shown)
}

// parseStoreURL reads a store URL.
func parseStoreURL(text string) (*endpoint, error) {
	u, err := storeurl.Parse(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("--store: %w", err)}
	}
	return &endpoint{shown: u.String(), server: !u.InMemory(), url: u}, nil
}

// connect connects with a server. Where single is true, all stores are asked one
// thing at a time, so that one connection will do.
func (e *endpoint) connect(ctx context.Context, single bool) (*storeurl.Connection, error) {
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return e.url.Connect(within, &storeurl.Options{Sequential: single})
}
