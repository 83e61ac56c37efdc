package attack

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
)

// A large capacity is never reached in a run, a small one soon. The large one fits the
// longest time to fill at one unit an hour.
const (
	large = 400_000
	small = 200
)

// hour is the time in which a bucket gets one unit back: longer than any run, so that
// no unit comes back in one.
const hour = int64(time.Hour / time.Microsecond)

// window is the period of the windows, as a spec and as a stored name have it.
const window = "9600h"

// key is one key with its limit.
type key struct {
	Name  string
	Limit string // the name of the limit
	Spec  string
	Group int // 1 where the key lies on a node that an event leaves alone

	kind     string
	log      bool
	capacity int64
	stored   string // its name on the server, as docs/reference/state.md has it
}

// newKeys returns n keys, over all kinds of algorithm. One of four has a small
// capacity, and one the medium one.
func newKeys(n int, medium int64) []key {
	families := algorithm.Families()
	keys := make([]key, n)
	for i := range keys {
		f := families[i%len(families)]
		k := key{Name: "attack" + strconv.Itoa(i), Limit: f.Name + "-large", kind: f.Kind, log: f.Log, capacity: large}
		switch i / len(families) % 4 {
		case 2:
			k.Limit, k.capacity = f.Name+"-medium", medium
		case 3:
			k.Limit, k.capacity = f.Name+"-small", small
		}
		period := ""
		if f.Option != "" {
			k.Spec = fmt.Sprintf("%s:1/1h,%s=%d", f.Name, f.Option, k.capacity)
		} else if f.Calendar {
			k.Spec = fmt.Sprintf("%s:%d/year", f.Name, k.capacity)
			period = "year:"
		} else {
			k.Spec = fmt.Sprintf("%s:%d/%s", f.Name, k.capacity, window)
			period = window + ":"
		}
		k.stored = fmt.Sprintf("w{%s}%c%s%s", k.Name, letters[f.Kind], period, k.Limit)
		keys[i] = k
	}
	return keys
}

// letters stand for kinds in stored names; written down again, as all of the ledger.
var letters = map[string]byte{
	"gcra/1": 'G', "token-bucket/1": 'T', "leaky-bucket/1": 'L', "fixed-window/1": 'F', "sliding-counter/1": 'C', "sliding-log/1": 'S',
	"calendar-window/1": 'W',
}

// count returns the units that a stored state has charged since start, in µs. It reads
// the text by itself: the code of the stores must not judge itself.
func (k *key) count(words []string, start int64) (int64, error) {
	if k.log {
		return countLog(words)
	}
	var numbers []int64
	for _, word := range words {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("state %q: %w", words, err)
		}
		numbers = append(numbers, number)
	}
	switch {
	case len(numbers) == 0:
		return 0, nil
	case k.kind == algorithm.KindGCRA || k.kind == algorithm.KindLeakyBucket:
		return (numbers[0] - start) / hour, nil
	case k.kind == algorithm.KindTokenBucket && len(numbers) > 1:
		return k.capacity - numbers[1], nil
	case (k.kind == algorithm.KindFixedWindow || k.kind == algorithm.KindCalendarWindow) && len(numbers) == 2,
		k.kind == algorithm.KindSlidingCounter && len(numbers) == 2:
		return numbers[1], nil
	}
	return 0, fmt.Errorf("no count for a state %q of %s: teach it to the ledger", words, k.kind)
}

// countLog adds up the costs of the entries "at", "at:cost" and "at:cost:sums". The first
// may end with "+n:place": n is by how much the costs exceed 1 each, and has to agree.
func countLog(words []string) (sum int64, err error) {
	var stated, extra int64
	for i, word := range words {
		if entry, summary, is := strings.Cut(word, "+"); is && i == 0 {
			word = entry
			more, _, _ := strings.Cut(summary, ":")
			if stated, err = strconv.ParseInt(more, 10, 64); err != nil {
				return 0, err
			}
		}
		cost := int64(1)
		if parts := strings.Split(word, ":"); len(parts) > 1 {
			if cost, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
				return 0, err
			}
		}
		sum += cost
		extra += cost - 1
	}
	if stated != extra {
		return 0, fmt.Errorf("a log says that its costs exceed 1 by %d, and they do by %d", stated, extra)
	}
	return sum, nil
}

// ledger reads what servers have charged.
type ledger struct {
	tb    testing.TB
	keys  []key
	start int64 // µs, before the first charge
}

func newLedger(tb testing.TB, keys []key) *ledger {
	start := time.Now()
	const period = 9600 * 3600 // seconds
	if left := period - start.Unix()%period; left < 3600 {
		tb.Fatalf("attack: a window of %s ends in %d s, and its count with it: try again later", window, left)
	}
	return &ledger{tb: tb, keys: keys, start: start.UnixMicro()}
}

// read returns the units that a server has charged to each key, at one instant. The
// commands run first, at the same instant.
func (l *ledger) read(s *servertest.Server, commands ...[]string) []int64 {
	l.tb.Helper()
	asked := make([]int, len(l.keys))
	for i := range asked {
		asked[i] = i
	}
	return l.counts(asked, s.Atomically(append(commands, l.questions(asked)...)...)[len(commands):])
}

// readNode returns the units that a node of a cluster has charged to the keys that lie
// on it, which a transaction cannot read together: only after the callers have ended.
func (l *ledger) readNode(s *servertest.Server, has func(key string) bool) []int64 {
	l.tb.Helper()
	var asked []int
	for i, k := range l.keys {
		if has(k.Name) {
			asked = append(asked, i)
		}
	}
	var replies []any
	for _, question := range l.questions(asked) {
		replies = append(replies, s.Do(question...))
	}
	return l.counts(asked, replies)
}

// readReplica returns the units that a replica of a cluster has received for all keys. It
// answers only those who say, on the same connection, that a replica will do.
func (l *ledger) readReplica(s *servertest.Server) []int64 {
	l.tb.Helper()
	asked := make([]int, len(l.keys))
	for i := range asked {
		asked[i] = i
	}
	return l.counts(asked, s.DoAll(append([][]string{{"READONLY"}}, l.questions(asked)...)...)[1:])
}

// questions are the commands whose replies counts reads.
func (l *ledger) questions(asked []int) [][]string {
	commands := [][]string{{"KEYS", "w{*"}}
	for _, i := range asked {
		k := &l.keys[i]
		get := []string{"GET", k.stored}
		if k.log {
			get = []string{"LRANGE", k.stored, "0", "-1"}
		}
		commands = append(commands, get, []string{"PTTL", k.stored})
	}
	return commands
}

func (l *ledger) counts(asked []int, replies []any) []int64 {
	l.tb.Helper()
	counts := make([]int64, len(l.keys))
	present := 0
	for at, i := range asked {
		k := &l.keys[i]
		words := wordsOf(replies[1+2*at])
		if len(words) == 0 {
			continue
		}
		present++
		if life, _ := replies[2+2*at].(int64); life <= 0 {
			l.tb.Errorf("attack: %s lives for %d ms: a state without a life time stays for ever", k.stored, life)
		}
		count, err := k.count(words, l.start)
		if err != nil {
			l.tb.Fatalf("attack: %s: %v", k.stored, err)
		}
		counts[i] = count
	}
	if all, _ := replies[0].([]any); len(all) != present {
		l.tb.Fatalf("attack: the server has the keys %q, of which %d are known: the ledger reads other names", all, present)
	}
	return counts
}

// wordsOf returns the words of a reply to GET or LRANGE.
func wordsOf(reply any) []string {
	switch reply := reply.(type) {
	case string:
		return strings.Fields(reply)
	case []any:
		words := make([]string, len(reply))
		for i, one := range reply {
			words[i], _ = one.(string)
		}
		return words
	}
	return nil
}
