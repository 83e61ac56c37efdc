package script

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// shardedClient is a Client whose keys lie on several servers: those whose tag begins
// with "far" on one, others on another, and of "lost" nobody knows.
type shardedClient struct{ Client }

var _ Locator = shardedClient{}

func (shardedClient) Sharded() bool { return true }

func (shardedClient) Node(key string) string {
	switch tag := clusterTag(key); {
	case strings.HasPrefix(tag, "far"):
		return "far"
	case tag == "lost":
		return ""
	}
	return "near"
}

// oneServer is a Sharded that is not.
type oneServer struct{ Client }

func (oneServer) Sharded() bool { return false }

// onCluster is onOneServer, with keys that lie on several servers.
func onCluster(t *testing.T, opts *Options, f func(t *testing.T, s *Store, h *manualClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newManual()
		s := open(t, shardedClient{h}, opts)
		f(t, s, h)
		h.none(t)
		wantNothingLeft(t, s)
	})
}

// wantNothingLeft looks that the dispatchers have nothing to do.
func wantNothingLeft(t *testing.T, s *Store) {
	t.Helper()
	synctest.Wait()
	for _, l := range []*dispatcher{&s.takes, &s.looks} {
		l.mu.Lock()
		if calls, abandoned := l.batcher.InFlight(); calls != 0 || abandoned != 0 || l.batcher.Waiting() != 0 {
			t.Errorf("%d calls, %d abandoned, and %d groups are left when all is answered", calls, abandoned, l.batcher.Waiting())
		}
		l.mu.Unlock()
	}
}

// tagsOf are the hash tags of the names in a command, as a cluster finds them, without
// those that follow their like.
func tagsOf(args []string) (tags []string) {
	for _, word := range args {
		if strings.HasPrefix(word, "w{") {
			tags = append(tags, clusterTag(word))
		}
	}
	return slices.Compact(tags)
}

// TestTagsNeverShareACall: and do not wait for each other; those of one tag do both.
func TestTagsNeverShareACall(t *testing.T) {
	for _, take := range []bool{true, false} {
		onCluster(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
			a, b := start(s, take, "{a}"), start(s, take, "{b}")
			calls := map[string]*manualCall{}
			for range 2 {
				call := h.next(t)
				calls[fmt.Sprint(tagsOf(call.args))] = call
			}
			rest := []*caller{
				start(s, take, "{a}1"), start(s, take, "{b}1"), start(s, take, "a"), start(s, take, "x{b}2", "y{b}3"), start(s, take, "z{a}"),
			}
			h.none(t)
			calls["[a]"].admit()
			a.wantAdmitted(t, "a")
			call := h.next(t)
			if got, tags := len(call.groups), fmt.Sprint(tagsOf(call.args)); got != 3 || tags != "[a]" {
				t.Errorf("a call of %d groups with the tags %s, want 3 with a", got, tags)
			}
			h.none(t) // b is in flight
			call.admit()
			calls["[b]"].admit()
			b.wantAdmitted(t, "b")
			call = h.next(t)
			if got, tags := len(call.groups), fmt.Sprint(tagsOf(call.args)); got != 2 || tags != "[b]" {
				t.Errorf("a call of %d groups with the tags %s, want 2 with b", got, tags)
			}
			call.admit()
			for _, c := range rest {
				c.wantAdmitted(t, c.ops[0].Key)
			}
		})
	}
}

// TestOneServerMixesTags: where all keys lie together, tags mean nothing.
func TestOneServerMixesTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newManual()
		s := open(t, oneServer{h}, &Options{InFlight: 1})
		first := start(s, true, "{a}", "{b}")
		call := h.next(t)
		b, c := start(s, true, "{b}"), start(s, true, "{c}")
		call.admit()
		call = h.next(t)
		if len(call.groups) != 2 {
			t.Errorf("a call of %v, want two groups", call.groups)
		}
		call.admit()
		for _, c := range []*caller{first, b, c} {
			c.wantAdmitted(t, c.ops[0].Key)
		}
	})
}

// TestKeysOfTwoTagsAreRefused: before anything is sent, with or without Lua, and with
// an error that says which ops they are and not who.
func TestKeysOfTwoTagsAreRefused(t *testing.T) {
	s := open(t, shardedClient{clientFunc(func(_ context.Context, c *Command) (string, error) {
		t.Errorf("%s is sent", c.Args[0])
		return "", io.EOF
	})}, nil)
	long := strings.Repeat("secret", 50)
	for name, keys := range map[string][]string{
		"keys":                  {"secret 1", "secret 2"},
		"the last of many":      {"{secret}1", "{secret}2", "{secret}3", "{secret}4", "{secrets}1"},
		"a tag and none":        {"x{secret}", "x{secret"},
		"two long ones":         {long + "1", long + "2"},
		"the name of the other": {"{", "%7B"},
		"empty braces":          {"{}secret", "{}secrets"},
		"the first tag counts":  {"{a}{secret}", "{b}{secret}"},
	} {
		for what, kinds := range map[string][2]string{"Lua": {}, "no Lua": {"mine/1", "mine/1"}, "one of them has no Lua": {"mine/1", ""}} {
			ops := make([]store.Op, len(keys))
			for i, key := range keys {
				var a algorithm.Algorithm = windowOf10
				if kind := kinds[min(i, 1)]; kind != "" {
					a = kindOnly(kind)
				}
				ops[i] = oneOp(key, a)[0]
				ops[i].Outcome = untold
			}
			at, committed, err := s.Apply(t.Context(), ops)
			lookedAt, lookErr := s.Peek(t.Context(), ops)
			for verb, err := range map[string]error{"apply": err, "peek": lookErr} {
				wantMeaning(t, name+", "+what+", "+verb, err, store.ErrCrossNode, nil)
				want := fmt.Sprintf("ops 0 and %d", len(keys)-1)
				if text := fmt.Sprint(err); strings.Contains(text, "secret") || !strings.Contains(text, want) || !strings.Contains(text, "{tag}") {
					t.Errorf("%s, %s: %v, want %s and no key", name, verb, err, want)
				}
			}
			if at != 0 || committed || lookedAt != 0 || slices.ContainsFunc(ops, func(op store.Op) bool { return op.Outcome != untold }) {
				t.Errorf("%s, %s: there is an answer beside the error", name, what)
			}
		}
	}
	for _, l := range []*dispatcher{&s.takes, &s.looks} {
		if l.batcher.Waiting() != 0 {
			t.Errorf("%d groups wait that were refused", l.batcher.Waiting())
		}
	}
}

// TestKeysOfOneTagTravelTogether: whatever they look like.
func TestKeysOfOneTagTravelTogether(t *testing.T) {
	long := strings.Repeat("k", 300)
	for _, keys := range [][]string{
		{"a", "{a}", "x{a}y", "{a}{b}", "{a}}", "x{a}" + long},
		{long, "{" + long + "}", "{" + long + "}1", "{" + long + "}" + long},
		{"{", "{{}"},
		{"{a", "{{a}}", "x{{a}"},
		{"%7B", "{%7B}"},
		{"{a:b}", "a:b", "{a:b}:c"},
	} {
		onCluster(t, nil, func(t *testing.T, s *Store, h *manualClient) {
			c := start(s, true, keys...)
			call := h.next(t)
			if tags := tagsOf(call.args); len(tags) != 1 || len(call.groups) != 1 || len(call.groups[0]) != len(keys) {
				t.Errorf("%.50q: a call of %d groups, tags %.50q", keys, len(call.groups), tags)
			}
			call.admit()
			c.wantAdmitted(t, fmt.Sprintf("%.50q", keys))
		})
	}
}

// TestTagIsWhatAClusterHashes: for any prefix, and any two keys.
func TestTagIsWhatAClusterHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := strings.NewReplacer("{", "(", "}", ")").Replace(drawBytes(t, "prefix", 1))
		s := &Store{sharded: true, opts: Options{Prefix: prefix[:min(len(prefix), maxPrefix)]}}
		a, b := drawBytes(t, "a", 1), drawBytes(t, "b", 1)
		if rapid.Bool().Draw(t, "b has the tag of a") {
			b = "{" + clusterTag(a) + "}" + b
		}
		names := make([]string, 2)
		for i, key := range []string{a, b} {
			names[i] = s.name(&store.Slot{Key: key, Limit: drawBytes(t, "limit", 0), Algorithm: kindOnly("a/1")})
			if got, want := s.tag(names[i]), clusterTag(names[i]); got != want || got == "" {
				t.Fatalf("%q lies at %q, a cluster hashes %q", names[i], got, want)
			}
		}
		tag, err := s.tagOf(names)
		if together := clusterTag(a) == clusterTag(b); together != (err == nil) || together && tag != clusterTag(names[0]) {
			t.Fatalf("keys %q and %q: %q, %v", a, b, tag, err)
		}
		if s.sharded = false; s.tag(names[0]) != "" {
			t.Fatal("one server has tags")
		}
	})
}

// TestCallsOfAllTagsAreBounded: callers of as many keys are not as many calls concurrently.
// Who waits is sent in the order of arrival, and one who leaves meanwhile is not.
func TestCallsOfAllTagsAreBounded(t *testing.T) {
	for _, take := range []bool{true, false} {
		onCluster(t, nil, func(t *testing.T, s *Store, h *manualClient) {
			var callers []*caller
			var calls []*manualCall
			for i := range maxCalls {
				callers = append(callers, start(s, take, fmt.Sprint(i)))
				calls = append(calls, h.next(t))
			}
			leaves := start(s, take, "leaves")
			callers = append(callers, start(s, take, "a"), start(s, take, "{b}1"), start(s, take, "0"), start(s, take, "{b}2"))
			h.none(t)
			other := start(s, !take, "a")
			h.next(t).admit() // looks and takes do not wait for each other
			other.wantAdmitted(t, "other")
			leaves.cancel()
			leaves.wantError(t, "leaves", nil, context.Canceled)
			for _, want := range []string{"[[a]]", "[[b] [b]]", "[[0]]"} {
				calls[0].admit()
				call := h.next(t)
				if got := fmt.Sprint(call.groups); got != want {
					t.Errorf("%s is sent, want %s", got, want)
				}
				h.none(t)
				calls = append(calls[1:], call)
			}
			for _, call := range calls {
				call.admit()
			}
			for _, c := range callers {
				c.wantAdmitted(t, c.ops[0].Key)
			}
		})
	}
}

// TestResetIsOneCommandForEachTag: with all keys of it, whatever stands between them.
// Where one fails, the rest is not sent, and what was before it has happened.
func TestResetIsOneCommandForEachTag(t *testing.T) {
	keys := []string{"{a}1", "{b}1", "a", "c", "{a}2", "{b}2", strings.Repeat("k", 300)}
	slots := make([]store.Slot, len(keys))
	for i, key := range keys {
		slots[i] = store.Slot{Key: key, Algorithm: windowOf10}
	}
	oom := &ServerError{Message: "OOM x"}
	for _, test := range []struct {
		tag      string // whose command fails
		with     error
		want     error
		commands int
	}{
		{"", nil, nil, 4},
		{"a", io.EOF, store.ErrOutcomeUnknown, 1},
		{"b", io.EOF, store.ErrOutcomeUnknown, 2},
		{"a", oom, store.ErrUnavailable, 1},
		{"b", oom, store.ErrOutcomeUnknown, 2},
		{"c", store.ErrUnavailable, store.ErrOutcomeUnknown, 3},
	} {
		var sent [][]string
		s := open(t, shardedClient{clientFunc(func(_ context.Context, c *Command) (string, error) {
			sent = append(sent, slices.Clone(c.Args))
			if c.Args[0] != "DEL" || c.Key != 1 || len(tagsOf(c.Args)) != 1 {
				t.Errorf("%.80q is sent, its key is word %d", c.Args, c.Key)
			}
			if tagsOf(c.Args)[0] == test.tag {
				return "", test.with
			}
			return "1", nil
		})}, nil)
		err := s.Reset(t.Context(), slots)
		wantMeaning(t, fmt.Sprintf("%s fails with %v", test.tag, test.with), err, test.want, nil)
		if len(sent) != test.commands || (err == nil) != (test.want == nil) {
			t.Errorf("%s fails with %v: %d commands, want %d, and %v", test.tag, test.with, len(sent), test.commands, err)
		}
		if test.want != nil {
			continue
		}
		named := map[string]int{}
		for _, args := range sent {
			for _, name := range args[1:] {
				named[name]++
			}
		}
		for i := range slots {
			if name := s.name(&slots[i]); named[name] != 1 {
				t.Errorf("%.40q is deleted %d times", name, named[name])
			}
		}
	}
}

// TestQueuesOfThoseWhoGaveUpDoNotPileUp: while calls hang, callers of new keys come and
// leave, each twice.
func TestQueuesOfThoseWhoGaveUpDoNotPileUp(t *testing.T) {
	onCluster(t, nil, func(t *testing.T, s *Store, h *manualClient) {
		var callers []*caller
		var calls []*manualCall
		for i := range maxCalls {
			callers = append(callers, start(s, true, fmt.Sprint(i)))
			calls = append(calls, h.next(t))
		}
		stays := start(s, true, "stays")
		for i := range 1000 {
			for range 2 {
				leaves := start(s, true, fmt.Sprint("leaves ", i))
				synctest.Wait()
				leaves.cancel()
				leaves.wantError(t, "leaves", nil, context.Canceled)
			}
		}
		synctest.Wait()
		if waiting := s.Stats().Waiting; waiting != 1 {
			t.Errorf("%d groups wait, of one caller", waiting)
		}
		h.none(t)
		calls[0].admit()
		calls = append(calls[1:], h.next(t))
		for _, call := range calls {
			call.admit()
		}
		for _, c := range append(callers, stays) {
			c.wantAdmitted(t, c.ops[0].Key)
		}
	})
}

// TestFeatureNodeTellsServersApart: the node of a key is where all of its states lie, and
// a store on one server has no such feature.
func TestFeatureNodeTellsServersApart(t *testing.T) {
	onCluster(t, nil, func(t *testing.T, s *Store, _ *manualClient) {
		for _, of := range []store.Store{s, store.Wrap(s, store.Hooks{})} {
			node := store.FeaturesOf(of).Node
			if node == nil {
				t.Fatalf("%T tells no servers apart", of)
			}
			for key, want := range map[string]string{"far:1": "far", "x{far}": "far", "a": "near", "lost": "", strings.Repeat("far", 100): "near"} {
				if got := node(key); got != want {
					t.Errorf("%q lies on %q, want %q", key, got, want)
				}
			}
		}
	})
	onOneServer(t, nil, func(t *testing.T, s *Store, _ *manualClient) {
		if store.FeaturesOf(s).Node != nil {
			t.Error("a store on one server tells servers apart")
		}
	})
}
