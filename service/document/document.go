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
	_ Document = (*inMemory)(nil)
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

// Memory are documents of this process. The zero value has none yet. It keeps what was
// written, and nothing of names that were only read.
type Memory struct {
	mu    sync.Mutex
	texts map[string]*text
}

// Document implements Documents.
func (m *Memory) Document(name string) (Document, error) {
	if !isName(name) {
		return nil, &store.InputError{Op: -1, Field: "name", Value: fmt.Sprintf("%q", name), Allowed: "1 to 64 of a-z, A-Z, 0-9, '-', '_', '.'"}
	}
	return &inMemory{m, name}, nil
}

func isName(name string) bool {
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// inMemory is a document of a Memory.
type inMemory struct {
	memory *Memory
	name   string
}

// text is what a Memory keeps of a document that was written, or has readers who wait.
type text struct {
	text     []byte
	revision int64
	changed  chan struct{} // closed with the next writing
}

// made returns the text of the document, and makes it where it is missing. The Memory is
// locked.
func (d *inMemory) made() *text {
	m := d.memory
	if m.texts == nil {
		m.texts = map[string]*text{}
	}
	if m.texts[d.name] == nil {
		m.texts[d.name] = &text{changed: make(chan struct{})}
	}
	return m.texts[d.name]
}

// Read implements Document.
func (d *inMemory) Read(ctx context.Context) ([]byte, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	t := d.memory.texts[d.name]
	if t == nil {
		return nil, 0, nil
	}
	return bytes.Clone(t.text), t.revision, nil
}

// Write implements Document.
func (d *inMemory) Write(ctx context.Context, next []byte, revision int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	now := int64(0)
	if t := d.memory.texts[d.name]; t != nil {
		now = t.revision
	}
	if now != revision {
		return 0, fmt.Errorf("document: write: %w: it is no longer in revision %d", store.ErrContention, revision)
	}
	t := d.made()
	t.text, t.revision = append([]byte{}, next...), revision+1
	close(t.changed)
	t.changed = make(chan struct{})
	return t.revision, nil
}

// Update implements Document.
func (d *inMemory) Update(ctx context.Context, change func([]byte) ([]byte, error)) (int64, error) {
	for {
		before, revision, err := d.Read(ctx)
		if err != nil {
			return 0, err
		}
		next, err := change(before)
		if err != nil {
			return 0, err
		}
		written, err := d.Write(ctx, next, revision)
		if err == nil || ctx.Err() != nil {
			return written, err
		}
	}
}

// Notify implements Document.
func (d *inMemory) Notify(ctx context.Context, changed func()) error {
	for {
		d.memory.mu.Lock()
		next := d.made().changed
		d.memory.mu.Unlock()
		changed()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}
