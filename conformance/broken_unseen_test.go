package conformance_test

import (
	"context"
	"hash/crc32"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// brokenBeyondSmall are stores whose mistake shows only with many entries, slots or
// ops, with large numbers, with long names, or where a caller waits.
var brokenBeyondSmall = []brokenStore{
	{"a log is cut to its newest 100 entries", reading(newest(100)), []string{"log/thousands-of-entries"}},
	{"a log is cut to its newest 1000 entries", reading(newest(1000)), []string{"log/thousands-of-entries"}},
	{"a reset leaves the newest of more than eight entries", func(f *faultyStore) {
		f.reset = func(ctx context.Context, slots []store.Slot) error {
			f.mu.Lock()
			before := maps.Clone(f.states)
			f.mu.Unlock()
			if err := f.plainStore.Reset(ctx, slots); err != nil {
				return err
			}
			for _, s := range slots {
				if held := before[placeOf(s)]; held.Words() == 0 && len(strings.Fields(held.String())) > 8 {
					f.put(map[place]algorithm.State{placeOf(s): newest(1)(held)})
				}
			}
			return nil
		}
	}, []string{"log/thousands-of-entries"}},
	{"a reset of more than eight slots leaves out the rest", func(f *faultyStore) {
		f.reset = func(ctx context.Context, slots []store.Slot) error {
			if err := store.ValidateSlots(slots); err != nil {
				return err
			}
			return f.plainStore.Reset(ctx, slots[:min(8, len(slots))])
		}
	}, []string{"reset/forgets-one-slot"}},
	{"the first eight ops are charged though the ninth is denied", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			at, committed, err := f.plainStore.Apply(ctx, ops)
			if first := slices.IndexFunc(ops, func(op store.Op) bool { return !op.Outcome.Allowed }); err == nil && first >= 8 {
				_, _, err = f.plainStore.Apply(ctx, slices.Clone(ops[:8]))
			}
			return at, committed, err
		}
	}, []string{"take/refused-changes-nothing"}},
	{"the version is not part of the kind", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Algorithm = versionless{op.Algorithm} }
	}, []string{"key/and-kind"}},
	{"a limit name is cut off at 192 bytes", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Limit = op.Limit[:min(192, len(op.Limit))] }
	}, []string{"key/any-limit-name"}},
	{"a limit name is cut off at 255 bytes", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Limit = op.Limit[:min(255, len(op.Limit))] }
	}, []string{"key/any-limit-name"}},
	{"limit names are normalised", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Limit = strings.ReplaceAll(op.Limit, "e\u0301", "\u00e9") }
	}, []string{"key/any-limit-name"}},
	{"keys are normalised", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Key = strings.ReplaceAll(op.Key, "e\u0301", "\u00e9") }
	}, []string{"key/any-bytes"}},
	{"a key is its CRC-32", func(f *faultyStore) {
		f.rewrite = hashed(func(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) })
	}, []string{"key/equal-hashes"}},
	{"a key is its FNV-1a", func(f *faultyStore) { f.rewrite = hashed(fnv32(fnv.New32a)) }, []string{"key/equal-hashes"}},
	{"a key is its FNV-1", func(f *faultyStore) { f.rewrite = hashed(fnv32(fnv.New32)) }, []string{"key/equal-hashes"}},
	{"counts are modulo 2^32", reading(func(s algorithm.State) algorithm.State {
		if s.Words() != 2 {
			return s
		}
		return algorithm.NewState(s.Word(0), s.Word(1)%(1<<32))
	}), []string{"input/large-numbers"}},
	{"a context is not heeded once the caller waits", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			if err := ctx.Err(); err != nil {
				return 0, false, err
			}
			return f.plainStore.Apply(context.Background(), ops)
		}
	}, []string{"context/ended-while-queued"}},
	{"a closed store does not look at its input", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			f.mu.Lock()
			closed := f.states == nil
			f.mu.Unlock()
			if closed {
				return 0, false, store.ErrClosed
			}
			return f.plainStore.Apply(ctx, ops)
		}
	}, []string{"close/then-closed"}},
	{"a Reset after Close does not look at its input", func(f *faultyStore) {
		f.reset = func(ctx context.Context, slots []store.Slot) error {
			f.mu.Lock()
			closed := f.states == nil
			f.mu.Unlock()
			if closed {
				return store.ErrClosed
			}
			return f.plainStore.Reset(ctx, slots)
		}
	}, []string{"close/then-closed"}},
	{"a Close is ignored", func(f *faultyStore) { f.close = func() error { return nil } },
		[]string{"close/then-closed", "close/while-in-use"}},
}

// newest cuts a log down to its newest entries.
func newest(most int) func(algorithm.State) algorithm.State {
	return func(s algorithm.State) algorithm.State {
		fields := strings.Fields(s.String())
		if s.Words() > 0 || len(fields) <= most || strings.Contains(s.String(), ":") {
			return s
		}
		cut, err := algorithm.ParseState(strings.Join(fields[len(fields)-most:], " "))
		if err != nil {
			panic(err)
		}
		return cut
	}
}

// versionless leaves out the version of a kind.
type versionless struct{ algorithm.Algorithm }

func (v versionless) Spec() algorithm.Spec {
	spec := v.Algorithm.Spec()
	spec.Kind, _, _ = strings.Cut(spec.Kind, "/")
	return spec
}

// hashed keeps a hash of a key in its place.
func hashed(hash func(text string) uint32) func(op *store.Op) {
	return func(op *store.Op) {
		if op.Key != "" {
			op.Key = strconv.FormatUint(uint64(hash(op.Key)), 10)
		}
	}
}

func fnv32[H interface {
	Write([]byte) (int, error)
	Sum32() uint32
}](open func() H) func(text string) uint32 {
	return func(text string) uint32 {
		h := open()
		_, _ = h.Write([]byte(text)) // never an error
		return h.Sum32()
	}
}
