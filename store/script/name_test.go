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
		"a", "b", "{", "}", "{}", "{a}", "%", "%#", "%25", "%7B", "%7D", "%3A", ":", "::", " ", "\x00", "\xff", "\xc3\x28", "é", "gcra/1", ":gcra/1:",
		"weir:", "5", "\n", "\r\n", "*", strings.Repeat("x", 199), strings.Repeat("{", 67), hex.EncodeToString(make([]byte, 32)), "/", ".", "-",
	}), least, 5).Draw(t, name)
	return strings.Join(pieces, "")
}

// TestNamesOfTwoSlotsDiffer (T9): whatever key, kind and limit consist of.
func TestNamesOfTwoSlotsDiffer(t *testing.T) {
	kinds := []string{"gcra/1", "a", "5", "-", "./1", "a/1", strings.Repeat("k", 64)}
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
			b.key = nameOf("weir:", a.key, a.kind, "")
			b.limit = strings.TrimPrefix(b.key, a.key)
		}
		if same := nameOf("weir:", a.key, a.kind, a.limit) == nameOf("weir:", b.key, b.kind, b.limit); same != (a == b) {
			t.Fatalf("%q and %q: one name %q", a, b, nameOf("weir:", a.key, a.kind, a.limit))
		}
	})
}

// TestNameIsBoundedAndReadable: what a name is made of, at the lengths where it changes.
func TestNameIsBoundedAndReadable(t *testing.T) {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "%#" + hex.EncodeToString(sum[:])
	}
	long := strings.Repeat("k", 201)
	for want, slot := range map[string][2]string{
		"weir:{user:1}:gcra/1:":                                                {"user:1", ""},
		"weir:{user:1}:gcra/1:per minute":                                      {"user:1", "per minute"},
		"weir:{org}user@%7Borg%7D:gcra/1:":                                     {"user@{org}", ""},
		"weir:{a}%7Ba%7D%7Bb%7D:gcra/1:":                                       {"{a}{b}", ""},
		"weir:{%7B%7Da}:gcra/1:":                                               {"{}a", ""},
		"weir:{%7B}:gcra/1:":                                                   {"{", ""},
		"weir:{%7D%7B}:gcra/1:":                                                {"}{", ""},
		"weir:{a%7B}:gcra/1:":                                                  {"a{", ""},
		"weir:{%7Ba}%7B%7Ba%7D%7D:gcra/1:":                                     {"{{a}}", ""},
		"weir:{100%25}:gcra/1:a%3Ab%25":                                        {"100%", "a:b%"},
		"weir:{" + long[1:] + "}:gcra/1:":                                      {long[1:], ""},
		"weir:{" + digest(long) + "}:gcra/1:":                                  {long, ""},
		"weir:{a}:gcra/1:" + long[1:]:                                          {"a", long[1:]},
		"weir:{a}:gcra/1:" + digest(long):                                      {"a", long},
		"weir:{t}" + digest("{t}"+long) + ":gcra/1:":                           {"{t}" + long, ""},
		"weir:{" + digest(long) + "}" + digest("{"+long+"}") + ":gcra/1:":      {"{" + long + "}", ""},
		"weir:{%25#" + digest("a")[2:] + "}:gcra/1:%25#" + digest("b")[2:]:     {digest("a"), digest("b")},
		"weir:{" + strings.Repeat("%7B", 200) + "}:gcra/1:":                    {strings.Repeat("{", 200), ""},
		"weir:{" + digest(strings.Repeat("{", 201)) + "}:gcra/1:":              {strings.Repeat("{", 201), ""},
		"weir:{\x00\xff}:gcra/1:\x00":                                          {"\x00\xff", "\x00"},
		"weir:{t}%7Bt%7D:gcra/1:" + strings.Repeat("%3A", 200):                 {"{t}", strings.Repeat(":", 200)},
		"weir:{%7B%7B}:gcra/1:":                                                {"{{", ""},
		"weir:{" + strings.Repeat("é", 100) + "}:gcra/1:":                      {strings.Repeat("é", 100), ""},
		"weir:{" + digest(strings.Repeat("é", 101)) + "}:gcra/1:" + "a%7B%7Db": {strings.Repeat("é", 101), "a{}b"},
	} {
		if got := nameOf("weir:", slot[0], "gcra/1", slot[1]); got != want {
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
			for _, text := range []string{key, nameOf("weir:", key, "gcra/1", drawBytes(t, "limit", 0))} {
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
			want = "weir:"
		}
		if got := s.name(&store.Slot{Key: "k", Algorithm: kindOnly("a")}); got != want+"{k}:a:" {
			t.Errorf("%.20q: %.40q", prefix, got)
		}
	}
}
