package weir

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// The text of a Reservation is its version, what it is of as JSON, and the signature of
// both, with dots between them; the last two are in base64url.
const (
	textVersion       = "weir-reservation-1"
	minReservationKey = 16
	signatureSize     = 16
)

// reservationText is what the text is of.
type reservationText struct {
	ID      string            `json:"id"`
	At      algorithm.Instant `json:"at"`                // of the take, in µs
	Allowed bool              `json:"allowed"`           // whether the estimate was taken
	Nowhere bool              `json:"nowhere,omitempty"` // no store that others share has counted it
	Asks    []askText         `json:"asks"`
}

type askText struct {
	Limit []byte `json:"limit"` // the name
	Kind  string `json:"kind"`  // algorithm.Spec.StoredKind
	Key   []byte `json:"key"`
	Cost  int64  `json:"cost"`
}

// MarshalText returns the Reservation as text, for another process: see Limiter.Resume. It
// contains the keys. It is an error while the outcome of the take is unknown. A Reservation
// that FailOpen or FailLocal answered for settles nowhere in another process.
//
// Whoever has the text can settle the Reservation, once, and again when Options.IDTTL has
// passed since; MarshalText comes before the settlement, since one that changed nothing was not
// sent without a text. See Options.ReservationKey for what
// is known of a text that was changed.
func (r *Reservation) MarshalText() ([]byte, error) {
	r.turn <- struct{}{}
	defer r.done()
	r.shared = true
	if !r.known {
		return nil, fmt.Errorf("weir: reservation: %w", store.ErrOutcomeUnknown)
	}
	t := reservationText{ID: r.id, Allowed: r.result.Allowed, Nowhere: r.guard != &r.multi.guard}
	if !t.Nowhere {
		at, err := algorithm.InstantOf(r.takenAt(0))
		if err != nil {
			return nil, err
		}
		t.At = at
	}
	for _, a := range r.asks {
		t.Asks = append(t.Asks, askText{[]byte(a.Limit.Name), a.Limit.Algorithm.Spec().StoredKind(), []byte(a.Key), a.Cost})
	}
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	text := append([]byte(textVersion), '.')
	text = base64.RawURLEncoding.AppendEncode(text, body)
	sum := r.multi.sign(text)
	return base64.RawURLEncoding.AppendEncode(append(text, '.'), sum), nil
}

// sign returns the signature of text, or its digest where there is no key.
func (m *MultiLimiter) sign(text []byte) []byte {
	if m.key == nil {
		sum := sha256.Sum256(text)
		return sum[:signatureSize]
	}
	mac := hmac.New(sha256.New, m.key)
	mac.Write(text)
	return mac.Sum(nil)[:signatureSize]
}

// Resume returns the Reservation of a text that MarshalText returned, in this process or
// another one, of a limiter for the same limit on the same store. A text that is not one, that was
// changed, or whose limit has another name or kind (of a window: another period) is
// an error that matches store.ErrInvalid. It sends nothing.
func (l *Limiter) Resume(text []byte) (*Reservation, error) {
	return l.multi.Resume(text, l.Limit())
}

// Resume is Limiter.Resume for a Reservation of several limits, which are found in limits
// by their names.
func (m *MultiLimiter) Resume(text []byte, limits ...Limit) (*Reservation, error) {
	t, err := m.parse(text)
	if err != nil {
		return nil, err
	}
	r := &Reservation{multi: m, id: t.ID, shared: true, known: true, turn: make(chan struct{}, 1)}
	if !t.Nowhere {
		r.guard = &m.guard
	}
	r.result.Allowed = t.Allowed
	for i, a := range t.Asks {
		limit, err := limitOf(i, a, limits)
		if err != nil {
			return nil, err
		}
		r.asks = append(r.asks, limit.ForN(string(a.Key), a.Cost))
		r.result.Decisions = append(r.result.Decisions, Decision{Allowed: t.Allowed, At: t.At.Time(), Degraded: t.Nowhere})
	}
	if err := reservable(r.asks); err != nil {
		return nil, err
	}
	ops, err := opsOf(r.asks)
	if err != nil {
		return nil, err
	}
	if err := store.ValidateOnce(store.Once{ID: t.ID, TTL: m.idTTL}, ops); err != nil {
		return nil, err
	}
	return r, nil
}

// limitOf is the limit that an ask was of.
func limitOf(i int, a askText, limits []Limit) (Limit, error) {
	for _, l := range limits {
		if l.Name != string(a.Limit) {
			continue
		}
		if err := l.check(i); err != nil {
			return Limit{}, err
		}
		if kind := l.Algorithm.Spec().StoredKind(); kind != a.Kind {
			return Limit{}, &store.InputError{Op: i, Field: "Limit.Algorithm", Value: kind, Allowed: strconv.Quote(a.Kind) + ", as was reserved"}
		}
		return l, nil
	}
	return Limit{}, &store.InputError{Op: i, Field: "limits", Value: "without " + strconv.Quote(string(a.Limit)), Allowed: "those of the reservation"}
}

// parse reads a text.
func (m *MultiLimiter) parse(text []byte) (t reservationText, err error) {
	refused := func(why string) error {
		return &store.InputError{Op: -1, Field: "text of a reservation", Value: why, Allowed: "as Reservation.MarshalText returns it, with the same Options.ReservationKey"}
	}
	end := bytes.LastIndexByte(text, '.')
	version, body, found := bytes.Cut(text[:max(end, 0)], []byte{'.'})
	if !found || string(version) != textVersion {
		return t, refused("of another version")
	}
	sum, err := base64.RawURLEncoding.Strict().DecodeString(string(text[end+1:]))
	if err != nil || !hmac.Equal(sum, m.sign(text[:end])) {
		return t, refused("with a signature that does not fit")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(body))
	if err != nil {
		return t, refused("that is not base64url")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil || d.More() {
		return t, refused("with other fields")
	}
	if err := t.check(); err != nil {
		return t, refused(err.Error())
	}
	return t, nil
}

// check refuses values that no reservation has.
func (t *reservationText) check() error {
	switch {
	case t.ID == "" || len(t.ID) > maxID:
		return errors.New("with an ID out of its bounds")
	case len(t.Asks) < 1 || len(t.Asks) > store.MaxOps:
		return errors.New("with no limits, or too many")
	case t.At < 0 || t.At > algorithm.MaxInstant:
		return errors.New("with an instant out of its bounds")
	}
	for _, a := range t.Asks {
		if a.Cost < 0 || t.Allowed && a.Cost > algorithm.MaxUnits {
			return errors.New("with a cost out of its bounds")
		}
	}
	return nil
}
