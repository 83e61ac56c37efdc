// Package document keeps texts that all nodes of the service share: the policy of a tenant,
// and what is kept for single users. A text on a server is that of package script; in
// memory, and so for one process, it is a [Memory]. Both are written by compare-and-set.
package document

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// Document is a text with a revision, counted from 1; 0 is that there is none. It is safe
// for concurrent use. The errors are those of package store.
type Document interface {
	// Read returns the text and its revision; nil and 0 where there is none.
	Read(ctx context.Context) (text []byte, revision int64, err error)
	// Write replaces the text where it still has a revision. Where it has another one the
	// error matches store.ErrContention. It returns the next revision.
	Write(ctx context.Context, text []byte, revision int64) (next int64, err error)
	// Update writes what change makes of the text, again where another writer was faster.
	// An error of change is returned as it is.
	Update(ctx context.Context, change func(text []byte) ([]byte, error)) (revision int64, err error)
	// Notify calls changed when the text may have changed, until ctx ends.
	Notify(ctx context.Context, changed func()) error
}

var (
	_ Document = (*script.Document)(nil)
	_ Document = (*text)(nil)
)

// Documents returns the document of a name: 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'.
// It asks no server.
type Documents func(name string) (Document, error)

// server is a store that has documents.
type server interface {
	Document(name string) (*script.Document, error)
}

// Of returns the documents of a store on a server, next to its states. They lie under its
// prefix, so that stores with other prefixes have other documents. A store in memory, and
// one that wraps a store, has none: false.
func Of(s store.Store) (Documents, bool) {
	on, is := s.(server)
	if !is {
		return nil, false
	}
	return func(name string) (Document, error) { return on.Document(name) }, true
}

// Memory are documents of this process. The zero value has none yet.
type Memory struct {
	mu    sync.Mutex
	texts map[string]*text
}

// Document implements Documents.
func (m *Memory) Document(name string) (Document, error) {
	if !isName(name) {
		return nil, &store.InputError{Op: -1, Field: "name", Value: fmt.Sprintf("%q", name), Allowed: "1 to 64 of a-z, A-Z, 0-9, '-', '_', '.'"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts == nil {
		m.texts = map[string]*text{}
	}
	if m.texts[name] == nil {
		m.texts[name] = &text{changed: make(chan struct{})}
	}
	return m.texts[name], nil
}

func isName(name string) bool {
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// text is a document in memory.
type text struct {
	mu       sync.Mutex
	text     []byte
	revision int64
	changed  chan struct{} // closed with the next writing
}

// Read implements Document.
func (t *text) Read(ctx context.Context) ([]byte, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.text), t.revision, nil
}

// Write implements Document.
func (t *text) Write(ctx context.Context, next []byte, revision int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revision != revision {
		return 0, fmt.Errorf("document: write: %w: it is no longer in revision %d", store.ErrContention, revision)
	}
	t.text, t.revision = append([]byte{}, next...), revision+1
	close(t.changed)
	t.changed = make(chan struct{})
	return t.revision, nil
}

// Update implements Document.
func (t *text) Update(ctx context.Context, change func([]byte) ([]byte, error)) (int64, error) {
	for {
		before, revision, err := t.Read(ctx)
		if err != nil {
			return 0, err
		}
		next, err := change(before)
		if err != nil {
			return 0, err
		}
		written, err := t.Write(ctx, next, revision)
		if err == nil || ctx.Err() != nil {
			return written, err
		}
	}
}

// Notify implements Document.
func (t *text) Notify(ctx context.Context, changed func()) error {
	for {
		t.mu.Lock()
		next := t.changed
		t.mu.Unlock()
		changed()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}
