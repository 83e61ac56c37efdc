package clienttest

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// documented is the page whose table says what an answer of a server means, from the
// folder of an adapter.
const documented = "../../docs/reference/errors.md"

// row is a line of the table: what came, whether it was charged, and the error.
var row = regexp.MustCompile("(?m)^\\| (`[A-Z].*?) \\| (no|perhaps) \\| (.*?) \\|")

// code is an error code in the first column.
var code = regexp.MustCompile("`([A-Z]{3,})(?: …)?`")

// documentedMeanings are the error that each code of the table stands for.
func documentedMeanings(t *testing.T) map[string]error {
	t.Helper()
	page, err := os.ReadFile(documented)
	if err != nil {
		t.Fatal(err)
	}
	meanings := map[string]error{}
	for _, line := range row.FindAllStringSubmatch(string(page), -1) {
		var meaning error
		switch charged, text := line[2], line[3]; {
		case strings.HasPrefix(text, "none |"), text == "none":
			continue
		case charged == "perhaps" && strings.HasPrefix(text, "`ErrOutcomeUnknown`"):
			meaning = store.ErrOutcomeUnknown
		case charged == "no" && strings.Contains(text, "`ErrUnavailable`"):
			meaning = store.ErrUnavailable
		case charged == "no" && text == "`ErrCrossNode`":
			meaning = store.ErrCrossNode
		default:
			t.Fatalf("a row of %s that no store keeps: %q", documented, line[0])
		}
		for _, found := range code.FindAllStringSubmatch(line[1], -1) {
			if found[1] == "ERR" && !strings.HasPrefix(line[1], "`ERR") {
				continue // that row is about one such text
			}
			if meanings[found[1]] == nil { // the first row is the one about the code
				meanings[found[1]] = meaning
			}
		}
	}
	return meanings
}

// errorsFollowTheTable lets a server answer each code of the table, and wants of a store
// the error that is documented for it, and after that answers as before.
func errorsFollowTheTable(t *testing.T, lib *Library) {
	meanings := documentedMeanings(t)
	for _, code := range []string{
		"READONLY", "MASTERDOWN", "LOADING", "OOM", "NOREPLICAS", "MISCONF", "BUSY", "NOPERM", "NOAUTH", "WRONGPASS", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "CROSSSLOT", "ERR",
	} {
		if meanings[code] == nil {
			t.Errorf("%s is not in the table of %s", code, documented)
		}
	}
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		standIn := servertest.NewStandIn(t, server)
		ops := take()
		for code, meaning := range meanings {
			// Each has a client of its own: a connection that leads to the wrong server is
			// given up, and what is on it at that moment is in doubt.
			s := open(t, lib.Open(t, At{Addr: standIn.Addr(), Mode: "RESP2"}), nil)
			text := servertest.ReplyError(code + " a reply of a test")
			if code == "MOVED" || code == "ASK" {
				text = servertest.ReplyError(code + " 1 127.0.0.1:1")
			}
			standIn.Answer(func(args []string) (any, bool) { return text, strings.HasPrefix(args[0], "EVAL") })
			_, committed, err := s.Apply(context.Background(), ops)
			var answer *script.ServerError
			if committed || !errors.Is(err, meaning) || !errors.As(err, &answer) || answer.Code() != code || !lib.Refusal(err) {
				t.Errorf("%s: %v, %v; want %v", code, committed, err, meaning)
			}
			for _, other := range []error{store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrCrossNode} {
				if other != meaning && errors.Is(err, other) {
					t.Errorf("%s: %v is %v, too", code, err, other)
				}
			}
			standIn.Answer(nil)
			servertest.Await(t, "the store decides again", func() bool {
				_, err := s.Peek(context.Background(), ops)
				return err == nil
			})
			if ops[0].Outcome.Remaining != 9 {
				t.Fatalf("%s: %d left, want 9 after one more", code, ops[0].Outcome.Remaining)
			}
		}
	})
}
