package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/store"
)

// Report is what Check found out about a server.
type Report struct {
	// Server is "redis" or "valkey", and Version its version, such as "7.0.15".
	// Both are "" where the user may not run INFO.
	Server, Version string
	// EvictionPolicy is the maxmemory-policy, and MaxMemory the bytes of
	// maxmemory; 0 is no bound.
	EvictionPolicy string
	MaxMemory      int64
	// Warnings are what an operator should know: an eviction policy that can
	// drop the keys of limits, or that INFO could not be read.
	Warnings []string
}

// oldest are the first versions that can run read-only scripts.
var oldest = map[string][2]int{"redis": {7, 0}, "valkey": {7, 2}}

// Check finds out whether the server can do what the store needs: that it answers,
// its version, the arithmetic of its Lua, that the user may run every command, that
// the Lua of Options.Scripts is Lua, and whether it could drop keys of limits. Call it
// at the start of a program. It writes and deletes a key of its own.
//
// What makes the store useless is an error that matches store.ErrUnavailable and
// names what is missing, or store.ErrClosed, or that of ctx. What does not is a
// warning in the Report.
func (s *Store) Check(ctx context.Context) (Report, error) {
	var r Report
	if err := s.ready(ctx); err != nil {
		return r, err
	}
	// The version comes first: an old server does not know how to do the rest.
	if err := s.checkServer(ctx, &r); err != nil {
		return r, err
	}
	if err := s.checkArithmetic(ctx); err != nil {
		return r, err
	}
	if err := s.checkPermissions(ctx); err != nil {
		return r, err
	}
	return r, s.checkScripts(ctx)
}

// checkArithmetic runs the self-test of the prelude.
func (s *Store) checkArithmetic(ctx context.Context) error {
	args := []string{"", "", "0"}
	for _, c := range arithmeticCases {
		q, r := exact.MulDiv(c.a, c.b, c.m)
		for _, n := range []int64{c.a, c.b, c.m, q, r} {
			args = append(args, strconv.FormatInt(n, 10))
		}
	}
	failed, err := s.evalFor(ctx, testProgram, &Command{Args: args, ReadOnly: true})
	if err != nil {
		return explain("check", err, false)
	}
	if failed != "" {
		return fmt.Errorf("script: check: %w: the Lua of the server computes case %s wrong", store.ErrUnavailable, failed)
	}
	return nil
}

// arithmeticCases are products around 2^53, far beyond it, and at the bounds of
// limits and periods.
var arithmeticCases = []struct{ a, b, m int64 }{
	{0, 0, 1}, {1, 1, 1}, {1, 1, 2}, {2, 3, 4}, {3, 7, 1_000_000},
	{94_906_265, 94_906_267, 94_906_266}, {94_906_267, 94_906_267, 3},
	{999_999_999_989, 34_559_999_999_999, 34_560_000_000_000},
	{34_559_999_999_999, 1_000_000_000_000, 34_560_000_000_000},
	{34_559_999_999_999, 999_999_999_989, 34_560_000_000_000},
	{999_999_999_999, 34_560_000_000_000, 1_000_000_000_000},
	{999_999_999_989, 34_559_999_999_987, 999_999_999_989},
	{1 << 40, 1 << 50, 1 << 40}, {1<<40 - 1, 1<<50 - 1, 1 << 40}, {1 << 40, 1<<50 - 1, 1<<40 + 1},
	{1<<45 - 1, 1<<53 - 1, 1<<45 - 1}, {1<<45 - 2, 1<<53 - 1, 1<<45 - 1}, {1, 1<<53 - 1, 1<<45 - 1},
	{1<<53 - 1, 1, 1<<45 - 1}, {1<<53 - 1, 1, 1}, {1_576_799_999_999_999, 7, 3_000_000},
	{86_399_999_999, 1_000_003, 86_400_000_000}, {2_591_999_999_999, 1_000_003, 2_592_000_000_000},
}

// checkPermissions tries every command that the store sends.
func (s *Store) checkPermissions(ctx context.Context) error {
	slot := store.Slot{Key: "check " + strconv.FormatUint(rand.Uint64(), 36), Algorithm: algorithm.Must(algorithm.NewFixedWindow(algorithm.PerSecond(1)))}
	name := s.name(&slot)
	failed, err := s.evalFor(ctx, probeProgram, &Command{Args: []string{"", "", "1", name}})
	if err != nil {
		return explain("check", err, false)
	}
	var problems []string
	if failed != "" {
		problems = strings.Split(failed, "\n")
	}
	for _, args := range [][]string{
		{"EVAL", "return 1", "1", name}, {"EVAL_RO", "return 1", "1", name}, {"DEL", name},
	} {
		_, err := s.within(ctx, &Command{Args: args, Key: len(args) - 1}, s.do)
		var refused *ServerError
		if errors.As(err, &refused) {
			problems = append(problems, args[0]+": "+refused.Error())
		} else if err != nil {
			return explain("check", err, false)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("script: check: %w: the server refuses %s", store.ErrUnavailable, strings.Join(problems, "; "))
	}
	return nil
}

// checkScripts runs the script for a batch on no groups at all, in both ways: it holds
// the Lua of every kind, and that of a user may not be Lua.
func (s *Store) checkScripts(ctx context.Context) error {
	for _, readOnly := range []bool{false, true} {
		_, err := s.evalFor(ctx, s.batch, &Command{Args: []string{"", "", "0", "", "", "0"}, ReadOnly: readOnly})
		var refused *ServerError
		if errors.As(err, &refused) {
			return fmt.Errorf("script: check: %w: the server refuses %s: %w", store.ErrUnavailable, s.whatIsRefused(ctx, readOnly), err)
		}
		if err != nil {
			return explain("check", err, false)
		}
	}
	return nil
}

// whatIsRefused names what a server refuses in the script for a batch: what a stand-in for a server lacks, or the Lua of a user.
func (s *Store) whatIsRefused(ctx context.Context, readOnly bool) string {
	var refused *ServerError
	_, err := s.within(ctx, &Command{Args: []string{"EVAL_RO", "return redis.call('TIME')[1]", "0"}, ReadOnly: true}, s.do)
	switch {
	case readOnly && errors.As(err, &refused):
		return "TIME in a read-only script (EVAL_RO), which the scripts of weir need to look at a limit"
	case len(s.opts.Scripts) > 0:
		return "the Lua of Options.Scripts, or the script of weir that it is a part of"
	}
	return "the script of weir for a batch"
}

// checkServer reads the version and the eviction policy.
func (s *Store) checkServer(ctx context.Context, r *Report) error {
	info, err := s.within(ctx, &Command{Args: []string{"INFO"}, ReadOnly: true}, s.do)
	var refused *ServerError
	if errors.As(err, &refused) {
		r.Warnings = append(r.Warnings, "version and eviction policy are not known: "+refused.Error())
		return nil
	}
	if err != nil {
		return explain("check", err, false)
	}
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[field] = value
	}
	r.Server, r.Version = "redis", fields["redis_version"]
	if version, is := fields["valkey_version"]; is {
		r.Server, r.Version = "valkey", version
	}
	if old := oldest[r.Server]; older(r.Version, old) {
		return fmt.Errorf("script: check: %w: %s %s is too old: must be %d.%d or newer", store.ErrUnavailable, r.Server, r.Version, old[0], old[1])
	}
	r.EvictionPolicy = fields["maxmemory_policy"]
	r.MaxMemory, _ = strconv.ParseInt(fields["maxmemory"], 10, 64) // 0 where it is not told
	if r.MaxMemory > 0 && r.EvictionPolicy != "noeviction" {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"maxmemory-policy %s can drop the keys of limits, which are then fresh: noeviction refuses instead", r.EvictionPolicy))
	}
	return nil
}

// older reports whether version is before the first; one that cannot be read is
// not.
func older(version string, first [2]int) bool {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, minorErr := strconv.Atoi(parts[1])
	if err != nil || minorErr != nil {
		return false
	}
	return major < first[0] || major == first[0] && minor < first[1]
}
