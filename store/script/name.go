package script

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/weirgo/weir/store"
)

// longest is the most bytes of a part of a stored name; a longer one is stored as
// its digest.
const longest = 200

// letter stands in stored names for a kind, the version of its layout included: another
// layout is another kind, with another letter or none. A letter is never used again.
type letter struct {
	letter   byte
	identity bool // of windows, which have their period or calendar for one: it follows, up to a colon
}

var letters = map[string]letter{
	"gcra/1":            {'G', false},
	"token-bucket/1":    {'T', false},
	"leaky-bucket/1":    {'L', false},
	"fixed-window/1":    {'F', true},
	"sliding-counter/1": {'C', true},
	"sliding-log/1":     {'S', true},
	"calendar-window/1": {'W', true},
	kindOfID:            {'I', false},
}

// StoredName returns the name under which a store with Options.Prefix keeps the state of a
// slot on the server, for tools that look at states. A prefix of "" is the default one. It
// is described in docs/reference/state.md, and changes only with the layout of what is stored.
func StoredName(prefix string, slot store.SlotID) string {
	if prefix == "" {
		prefix = defaultPrefix
	}
	var room [256]byte
	return string(appendName(room[:0], prefix, slot))
}

// appendName appends the stored name of a slot,
//
//	<prefix>{<tag>}<kind><limit>
//	<prefix>{<tag>}<kind><limit>:<rest>
//
// It is short, since a server spends 16 bytes more on a name of more than 27 or 30 bytes. The
// kind is a letter, as in w{user:42}Gapi, with the identity and a colon behind it for windows, which
// have their period for one: w{user:42}F1m:api. A kind without a letter stands between
// colons, with its identity if there is one: w{user:42}:quota/1:api.
//
// Where Key holds a non-empty {t}, as a cluster looks for it, tag is t and rest is
// Key, so that users can place keys together; otherwise tag is Key and rest is
// empty. So the key alone says where a slot lies in a cluster, and all limits of a
// key lie together. {, } and % are written %7B, %7D and %25, and : in Limit is
// written %3A. A part of more than 200 bytes is %# and its SHA-256 in hex.
//
// No two slots share a name, whatever they consist of, since it can be read from left to
// right: a prefix and a tag have no braces, a letter says whether an identity follows,
// kinds and identities have neither colons nor an @, and a limit has no colon.
func appendName(name []byte, prefix string, slot store.SlotID) []byte {
	tag, rest := store.HashTag(slot.Key), ""
	if tag != slot.Key {
		rest = slot.Key
	}
	name = append(name, prefix...)
	name = append(name, '{')
	name = appendPart(name, tag, false)
	name = append(name, '}')
	name = appendKind(name, slot.Kind, slot.Identity)
	name = appendPart(name, slot.Limit, true)
	if rest != "" {
		name = append(name, ':')
		name = appendPart(name, rest, false)
	}
	return name
}

func appendKind(name []byte, kind, identity string) []byte {
	short, found := letters[kind]
	switch {
	case found && short.identity:
		name = append(append(name, short.letter), identity...)
		return append(name, ':')
	case found && identity == "":
		return append(name, short.letter)
	}
	name = append(append(name, ':'), kind...)
	if identity != "" {
		name = append(append(name, '@'), identity...)
	}
	return append(name, ':')
}

func appendPart(name []byte, part string, colons bool) []byte {
	if len(part) > longest {
		sum := sha256.Sum256([]byte(part))
		return hex.AppendEncode(append(name, "%#"...), sum[:])
	}
	done := 0
	for i := range len(part) {
		var escaped string
		switch c := part[i]; {
		case c == '{':
			escaped = "%7B"
		case c == '}':
			escaped = "%7D"
		case c == '%':
			escaped = "%25"
		case c == ':' && colons:
			escaped = "%3A"
		default:
			continue
		}
		name = append(append(name, part[done:i]...), escaped...)
		done = i + 1
	}
	return append(name, part[done:]...)
}
