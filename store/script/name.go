package script

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/weirgo/weir/store"
)

// longest is the most bytes of a part of a stored name; a longer one is stored as
// its digest.
const longest = 200

// appendName appends the stored name of a slot,
//
//	<prefix>{<tag>}<rest>:<kind>:<limit>
//	<prefix>{<tag>}<rest>:<kind>@<identity>:<limit>
//
// the second where the Spec of the algorithm has an Identity, as a window has its
// period: fixed-window/1@1m.
//
// Where Key holds a non-empty {t}, as a cluster looks for it, tag is t and rest is
// Key, so that users can place keys together; otherwise tag is Key and rest is
// empty. So the key alone says where a slot lies in a cluster, and all limits of a
// key lie together. {, } and % are written %7B, %7D and %25, and : in Limit is
// written %3A: no two slots share a name, and Limit and kind are what follows the
// last two colons. A part of more than 200 bytes is %# and its SHA-256 in hex.
func appendName(name []byte, prefix string, slot store.SlotID) []byte {
	tag, rest := store.HashTag(slot.Key), ""
	if tag != slot.Key {
		rest = slot.Key
	}
	name = append(name, prefix...)
	name = append(name, '{')
	name = appendPart(name, tag, false)
	name = append(name, '}')
	name = appendPart(name, rest, false)
	name = append(name, ':')
	name = append(name, slot.Kind...)
	if slot.Identity != "" {
		name = append(name, '@')
		name = append(name, slot.Identity...)
	}
	name = append(name, ':')
	return appendPart(name, slot.Limit, true)
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
