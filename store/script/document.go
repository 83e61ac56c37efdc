package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirgo/weir/internal/document/size"
	"github.com/weirgo/weir/store"
)

// Subscriber is an optional interface of a Client that gets the messages of channels.
type Subscriber interface {
	Client
	// Subscribe calls message for each message of a channel, and whenever it has subscribed
	// anew, since messages may have been lost before. It returns when ctx has ended, or
	// with the error of the connection. message returns immediately, and must not be
	// called after Subscribe has returned.
	Subscribe(ctx context.Context, channel string, message func()) error
}

// Document is a text on the server that all processes share, such as a policy. Each
// writing gives it the next revision, and a writer who has not read the last one is
// refused: of two concurrent writers none is lost. It never expires. A Document is safe for
// concurrent use. Its methods return store.ErrClosed after its Store was closed.
type Document struct {
	store *Store
	key   string
}

// Document returns the document of a name: 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'. It
// sends nothing. The document lies at Options.Prefix + "document:" + name, and its
// readers are notified through the channel of the same name.
func (s *Store) Document(name string) (*Document, error) {
	fits := len(name) >= 1 && len(name) <= 64
	for _, c := range []byte(name) {
		fits = fits && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.", c) >= 0)
	}
	if !fits {
		return nil, &store.InputError{Op: -1, Field: "name", Value: strconv.Quote(name), Allowed: "1 to 64 of a-z, A-Z, 0-9, '-', '_', '.'"}
	}
	return &Document{s, s.opts.Prefix + "document:" + name}, nil
}

// Read returns the text and its revision, counted from 1. Without a document the text
// is nil and the revision 0. It is one round trip.
func (d *Document) Read(ctx context.Context) (text []byte, revision int64, err error) {
	if err := d.store.ready(ctx); err != nil {
		return nil, 0, err
	}
	reply, err := d.store.within(ctx, &Command{Args: []string{"GET", d.key}, Key: 1, ReadOnly: true}, d.store.do)
	switch {
	case isWrongType(err):
		return nil, 0, fmt.Errorf("script: read document: %w", store.ErrCorrupt)
	case err != nil:
		return nil, 0, explain("read document", err, false)
	case reply == "":
		return nil, 0, nil
	}
	number, rest, found := strings.Cut(reply, "\n")
	revision, err = strconv.ParseInt(number, 10, 64)
	if !found || err != nil || revision < 1 {
		return nil, 0, fmt.Errorf("script: read document: %w", store.ErrCorrupt)
	}
	return []byte(rest), revision, nil
}

// Write replaces the text, if the document is still in a revision: the one that Read
// returned, 0 for none. It returns the next revision. Where the document is in another
// one, nothing was written and the error matches store.ErrContention. An error that
// matches store.ErrOutcomeUnknown leaves open whether the text was written; all others
// mean that it was not. The text has at most 4 MiB. It is two round trips: the second
// notifies the readers, who find the text without it a little later.
func (d *Document) Write(ctx context.Context, text []byte, revision int64) (next int64, err error) {
	switch {
	case len(text) > size.MaxDocument:
		return 0, &store.InputError{Op: -1, Field: "text", Value: fmt.Sprintf("of %d bytes", len(text)), Allowed: fmt.Sprintf("at most %d bytes", size.MaxDocument)}
	case revision < 0 || revision >= 1<<53:
		return 0, &store.InputError{Op: -1, Field: "revision", Value: strconv.FormatInt(revision, 10), Allowed: "0 to 2^53 - 1"}
	}
	if err := d.store.ready(ctx); err != nil {
		return 0, err
	}
	before, after := strconv.FormatInt(revision, 10), strconv.FormatInt(revision+1, 10)
	reply, err := d.store.evalFor(ctx, documentProgram, &Command{Args: []string{"", "", "1", d.key, before, after + "\n" + string(text)}})
	switch {
	case err != nil:
		return 0, explain("write document", err, true)
	case reply == "!":
		return 0, fmt.Errorf("script: write document: %w", store.ErrCorrupt)
	case reply != "1":
		return 0, fmt.Errorf("script: write document: %w: it is no longer in revision %s", store.ErrContention, before)
	}
	// A reader without the message reads at intervals, so its loss is no error.
	_, _ = d.store.within(ctx, &Command{Args: []string{"PUBLISH", d.key, after}}, d.store.do)
	return revision + 1, nil
}

// Update reads the text, gives it to change, and writes what change returns; again after a
// pause, where another writer was faster, until ctx ends. change gets nil where there is no
// document, and an error of it is returned as it is. A writing of which the outcome is
// unknown is found out by reading, and sent again where it was not made; where reading
// fails, the error matches store.ErrOutcomeUnknown.
func (d *Document) Update(ctx context.Context, change func(text []byte) ([]byte, error)) (revision int64, err error) {
	for attempt := 0; ; attempt++ {
		text, revision, err := d.Read(ctx)
		if err != nil {
			return 0, err
		}
		next, err := change(text)
		if err != nil {
			return 0, err
		}
		written, err := d.settle(ctx, next, revision)
		if err == nil || !errors.Is(err, store.ErrContention) {
			return written, err
		}
		if ended := pause(ctx, attempt); ended != nil {
			return 0, errors.Join(err, ended)
		}
	}
}

// settle writes a text, and finds out whether it was written where that is unknown. The
// same text is sent again then: a command that was thought to be lost may still arrive.
func (d *Document) settle(ctx context.Context, text []byte, revision int64) (next int64, err error) {
	next, err = d.Write(ctx, text, revision)
	for attempt := 0; errors.Is(err, store.ErrOutcomeUnknown); attempt++ {
		unknown := err
		now, found, readErr := d.Read(ctx)
		switch {
		case readErr != nil:
			return 0, errors.Join(unknown, readErr)
		case found == revision+1 && string(now) == string(text):
			return found, nil // ours, or another one's that is the same
		case found > revision+1:
			return 0, unknown // whose revision came in between is not known
		case found == revision+1:
			return 0, store.ErrContention
		}
		if ended := pause(ctx, attempt); ended != nil {
			return 0, errors.Join(unknown, ended)
		}
		next, err = d.Write(ctx, text, revision)
		switch {
		case err == nil:
			return next, nil
		case !errors.Is(err, store.ErrContention) && !errors.Is(err, store.ErrOutcomeUnknown):
			return 0, errors.Join(unknown, err)
		}
		err = unknown // it may have been written by the command before
	}
	return next, err
}

// Notify calls changed whenever the document may have been written, until ctx ends or the
// connection fails; it returns why. A client that cannot subscribe is an error that
// matches store.ErrInvalid. changed must return immediately.
func (d *Document) Notify(ctx context.Context, changed func()) error {
	client, is := d.store.client.(Subscriber)
	if !is {
		return &store.InputError{Op: -1, Field: "client", Value: "without Subscribe", Allowed: "a Subscriber"}
	}
	if err := d.store.ready(ctx); err != nil {
		return err
	}
	return client.Subscribe(ctx, d.key, changed)
}

func isWrongType(err error) bool {
	var reply *ServerError
	return errors.As(err, &reply) && reply.Code() == "WRONGTYPE"
}
