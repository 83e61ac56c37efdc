package script

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// kindOnly is an algorithm of which nothing but the kind counts.
type kindOnly string

func (k kindOnly) Spec() algorithm.Spec { return algorithm.Spec{Kind: string(k)} }

func (kindOnly) Step(s algorithm.State, _ algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return s, algorithm.Outcome{Allowed: true}
}

// nameOf is a stored name; kind may have an identity behind an @.
func nameOf(prefix, key, kind, limit string) string {
	kind, identity, _ := strings.Cut(kind, "@")
	return string(appendName(nil, prefix, store.SlotID{Key: key, Limit: limit, Kind: kind, Identity: identity}))
}

// clusterTag is what a cluster hashes of a key, by its specification.
func clusterTag(key string) string {
	open := strings.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	length := strings.IndexByte(key[open+1:], '}')
	if length < 1 {
		return key
	}
	return key[open+1 : open+1+length]
}

// clusterSlot is CRC16 (XMODEM) of the tag, modulo 16,384.
func clusterSlot(key string) int {
	crc := uint16(0)
	for _, c := range []byte(clusterTag(key)) {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % 16384
}

// drawBytes draws parts of names that look like what is added to them.
func drawBytes(t *rapid.T, name string, least int) string {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "{", "}", "{}", "{a}", "%", "%#", "%25", "%7B", "%7D", "%3A", ":", "::", " ", "\x00", "\xff", "\xc3\x28", "é", "gcra/1", ":gcra/1:", "G", "F", "F1m:", "1m", "1m:", "s", "@", "I", "fixed-window/1",
		"w", "weir:", "5", "\n", "\r\n", "*", strings.Repeat("x", 199), strings.Repeat("{", 67), hex.EncodeToString(make([]byte, 32)), "/", ".", "-",
	}), least, 5).Draw(t, name)
	return strings.Join(pieces, "")
}

// TestNamesOfTwoSlotsDiffer (T9): whatever key, kind and limit consist of.
func TestNamesOfTwoSlotsDiffer(t *testing.T) {
	kinds := []string{"gcra/1", "token-bucket/1", "gcra/1@x", "fixed-window/1@1m", "fixed-window/1@1ms", "fixed-window/1@1", "fixed-window/1", "sliding-log/1@1m", "calendar-window/1@day.UTC",
		"ID/1", "a", "a@b", "5", "-", "./1", "a/1", "1m", strings.Repeat("k", 64)}
	rapid.Check(t, func(t *rapid.T) {
		type slot struct{ key, kind, limit string }
		draw := func(name string) slot {
			return slot{drawBytes(t, name+" key", 1), rapid.SampledFrom(kinds).Draw(t, name+" kind"), drawBytes(t, name+" limit", 0)}
		}
		a, b := draw("one"), draw("other")
		switch rapid.IntRange(0, 3).Draw(t, "they share") {
		case 0:
			b.key = a.key
		case 1:
			b.limit = a.limit
		case 2: // the name of one is part of the other
			b.key = nameOf("", a.key, a.kind, a.limit)
		case 3:
			b.key = nameOf("w", a.key, a.kind, "")
			b.limit = strings.TrimPrefix(b.key, a.key)
		}
		if same := nameOf("w", a.key, a.kind, a.limit) == nameOf("w", b.key, b.kind, b.limit); same != (a == b) {
			t.Fatalf("%q and %q: one name %q", a, b, nameOf("w", a.key, a.kind, a.limit))
		}
	})
}

// TestNamesCanBeReadBack: a reader that knows nothing but docs/reference/state.md finds
// all of a slot in its name, so that no two slots share one.
func TestNamesCanBeReadBack(t *testing.T) {
	unescape := strings.NewReplacer("%7B", "{", "%7D", "}", "%25", "%", "%3A", ":").Replace
	read := func(name string) (slot store.SlotID) {
		_, name, _ = strings.Cut(name, "{")
		tag, name, _ := strings.Cut(name, "}")
		kinds := map[byte]string{
			'G': "gcra/1", 'T': "token-bucket/1", 'L': "leaky-bucket/1", 'F': "fixed-window/1", 'C': "sliding-counter/1", 'S': "sliding-log/1", 'W': "calendar-window/1", 'I': "ID/1",
		}
		switch letter := name[0]; letter {
		case ':':
			slot.Kind, name, _ = strings.Cut(name[1:], ":")
			slot.Kind, slot.Identity, _ = strings.Cut(slot.Kind, "@")
		case 'F', 'C', 'S', 'W':
			slot.Kind = kinds[letter]
			slot.Identity, name, _ = strings.Cut(name[1:], ":")
		default:
			slot.Kind, name = kinds[letter], name[1:]
		}
		limit, rest, braced := strings.Cut(name, ":")
		slot.Limit, slot.Key = unescape(limit), unescape(tag)
		if braced {
			slot.Key = unescape(rest)
		}
		return slot
	}
	rapid.Check(t, func(t *rapid.T) {
		slot := store.SlotID{
			Key: drawBytes(t, "key", 1), Limit: drawBytes(t, "limit", 0),
			Kind:     rapid.SampledFrom([]string{"gcra/1", "token-bucket/1", "leaky-bucket/1", "fixed-window/1", "sliding-counter/1", "sliding-log/1", "calendar-window/1", "ID/1", "a", "1/1"}).Draw(t, "kind"),
			Identity: rapid.SampledFrom([]string{"", "1m", "1ms", "250us", "month.15.Europe/Berlin", "x"}).Draw(t, "identity"),
		}
		if max(len(slot.Key), len(slot.Limit)) > longest {
			t.Skip("a digest, which cannot be read back")
		}
		if got := read(StoredName("", slot)); got != slot {
			t.Fatalf("%q: %+v of %+v", StoredName("", slot), got, slot)
		}
	})
}

// TestLettersAreForEver: a letter whose layout is gone is not given to another one, since
// states of the old one may lie on a server.
func TestLettersAreForEver(t *testing.T) {
	want := map[string]letter{
		"gcra/1": {'G', false}, "token-bucket/1": {'T', false}, "leaky-bucket/1": {'L', false},
		"fixed-window/1": {'F', true}, "sliding-counter/1": {'C', true}, "sliding-log/1": {'S', true}, "calendar-window/1": {'W', true}, "ID/1": {'I', false},
	}
	used := map[byte]bool{}
	for kind, l := range letters {
		if known, found := want[kind]; found && known != l || used[l.letter] || l.letter < 'A' || l.letter > 'Z' {
			t.Errorf("%s has %q", kind, l.letter)
		}
		used[l.letter] = true
	}
	for kind := range want {
		if _, found := letters[kind]; !found {
			t.Errorf("%s has lost its letter", kind)
		}
	}
}

// TestNameIsBoundedAndReadable: what a name is made of, at the lengths where it changes.
func TestNameIsBoundedAndReadable(t *testing.T) {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "%#" + hex.EncodeToString(sum[:])
	}
	long := strings.Repeat("k", 201)
	for want, slot := range map[string][2]string{
		"w{user:1}G":                  {"user:1", ""},
		"w{user:1}Gper minute":        {"user:1", "per minute"},
		"w{org}G:user@%7Borg%7D":      {"user@{org}", ""},
		"w{a}G:%7Ba%7D%7Bb%7D":        {"{a}{b}", ""},
		"w{%7B%7Da}G":                 {"{}a", ""},
		"w{%7B}G":                     {"{", ""},
		"w{%7D%7B}G":                  {"}{", ""},
		"w{a%7B}G":                    {"a{", ""},
		"w{%7Ba}G:%7B%7Ba%7D%7D":      {"{{a}}", ""},
		"w{100%25}Ga%3Ab%25":          {"100%", "a:b%"},
		"w{" + long[1:] + "}G":        {long[1:], ""},
		"w{" + digest(long) + "}G":    {long, ""},
		"w{a}G" + long[1:]:            {"a", long[1:]},
		"w{a}G" + digest(long):        {"a", long},
		"w{t}G:" + digest("{t}"+long): {"{t}" + long, ""},
		"w{" + digest(long) + "}G:" + digest("{"+long+"}"):      {"{" + long + "}", ""},
		"w{%25#" + digest("a")[2:] + "}G%25#" + digest("b")[2:]: {digest("a"), digest("b")},
		"w{" + strings.Repeat("%7B", 200) + "}G":                {strings.Repeat("{", 200), ""},
		"w{" + digest(strings.Repeat("{", 201)) + "}G":          {strings.Repeat("{", 201), ""},
		"w{\x00\xff}G\x00": {"\x00\xff", "\x00"},
		"w{t}G" + strings.Repeat("%3A", 200) + ":%7Bt%7D": {"{t}", strings.Repeat(":", 200)},
		"w{%7B%7B}G":                           {"{{", ""},
		"w{" + strings.Repeat("é", 100) + "}G": {strings.Repeat("é", 100), ""},
		"w{" + digest(strings.Repeat("é", 101)) + "}G" + "a%7B%7Db": {strings.Repeat("é", 101), "a{}b"},
	} {
		if got := nameOf("w", slot[0], "gcra/1", slot[1]); got != want {
			t.Errorf("%.40q, %.40q: %q, want %q", slot[0], slot[1], got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := nameOf(strings.Repeat("p", 200), drawBytes(t, "key", 1), strings.Repeat("k", 64), drawBytes(t, "limit", 0))
		if len(name) > 200+64+4+3*600 {
			t.Fatalf("a name of %d bytes", len(name))
		}
	})
}

// TestKeyAloneSaysWhereASlotLies: limit and kind never move it, and a key with {t}
// lies with all others that have it.
func TestKeyAloneSaysWhereASlotLies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := drawBytes(t, "key", 1)
		prefix := strings.NewReplacer("{", "", "}", "").Replace(drawBytes(t, "prefix", 0))
		name := nameOf(prefix, key, "gcra/1", "")
		for range 3 {
			other := nameOf(prefix, key, rapid.SampledFrom([]string{"a", "b/2"}).Draw(t, "kind"), drawBytes(t, "limit", 0))
			if clusterTag(other) != clusterTag(name) {
				t.Fatalf("%q and %q", name, other)
			}
		}
		var want string
		if want = store.HashTag(key); want != clusterTag(key) {
			t.Fatalf("the tag of %q is %q, a cluster says %q", key, want, clusterTag(key))
		}
		if want = string(appendPart(nil, want, false)); clusterTag(name) != want {
			t.Fatalf("a cluster takes %q of %q, want %q", clusterTag(name), name, want)
		}
		before := strings.ReplaceAll(drawBytes(t, "before the tag", 0), "{", "")
		beside := nameOf(prefix, before+"{"+clusterTag(key)+"}"+drawBytes(t, "behind it", 0), "b", "c")
		if !strings.Contains(clusterTag(key), "}") && clusterTag(beside) != clusterTag(name) {
			t.Fatalf("%q and %q have one tag and lie apart", name, beside)
		}
	})
}

// TestClustersAgreeWithTheTag: servers compute the same slot as this file does.
func TestClustersAgreeWithTheTag(t *testing.T) {
	eachServer(t, &servertest.Config{Cluster: true}, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		rapid.Check(t, func(t *rapid.T) {
			key := drawBytes(t, "key", 1)
			for _, text := range []string{key, nameOf("w", key, "gcra/1", drawBytes(t, "limit", 0))} {
				reply, err := w.Do(t.Context(), &Command{Args: []string{"CLUSTER", "KEYSLOT", text}})
				if want := fmt.Sprint(clusterSlot(text)); err != nil || reply != want {
					t.Fatalf("%q lies in slot %s (%v), want %s", text, reply, err, want)
				}
			}
		})
	})
}

// TestPrefixMustKeepTheTag: braces in it would decide for a cluster.
func TestPrefixMustKeepTheTag(t *testing.T) {
	for _, prefix := range []string{"{", "}", "a{b}", "{}", strings.Repeat("p", 201)} {
		_, err := New(unused, &Options{Prefix: prefix})
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "Options.Prefix") {
			t.Errorf("%.20q: %v", prefix, err)
		}
	}
	for _, prefix := range []string{"", "a", ":", "%", "\x00", "weir:%7B", strings.Repeat("p", 200)} {
		s := open(t, unused, &Options{Prefix: prefix})
		want := prefix
		if want == "" {
			want = "w"
		}
		if got := s.name(&store.Slot{Key: "k", Algorithm: kindOnly("a")}); got != want+"{k}:a:" {
			t.Errorf("%.20q: %.40q", prefix, got)
		}
	}
}
