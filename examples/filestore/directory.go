//go:build unix

package filestore

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// place is where a state lies. kind is Spec.StoredKind, which has the identity; the other
// parameters of the limit are not part of it.
type place struct{ key, limit, kind string }

func placeOf(s *store.Slot) place { return place{s.Key, s.Limit, s.Algorithm.Spec().StoredKind()} }

// record is a state that was written, as text; an empty one is gone.
type record struct {
	place
	text  string
	until algorithm.Instant // from here on it may be dropped
}

// directory holds two files: "lock", and "steps" with one line for each step. A
// step is there as a whole or not at all, as a line whose sum is not right is not
// there. What the lines add up to is held in memory.
type directory struct {
	path   string
	locked *os.File
	steps  *os.File
	end    int64 // of what was read of steps
	states map[place]record
}

// worthwhile is from which size on steps are written anew, without what is over.
const worthwhile = 1 << 20

func openDirectory(path string) (*directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("filestore: open: %w", err)
	}
	locked, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("filestore: open: %w", err)
	}
	return &directory{path: path, locked: locked, states: map[place]record{}}, nil
}

func (d *directory) close() error {
	err := d.locked.Close()
	if d.steps != nil {
		err = errors.Join(err, d.steps.Close())
	}
	return err
}

// lock waits for the lock and reads what was written since the last time.
func (d *directory) lock() error {
	for {
		err := syscall.Flock(int(d.locked.Fd()), syscall.LOCK_EX)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
	if err := d.catchUp(); err != nil {
		d.unlock()
		return err
	}
	return nil
}

func (d *directory) unlock() { _ = syscall.Flock(int(d.locked.Fd()), syscall.LOCK_UN) }

func (d *directory) name() string { return filepath.Join(d.path, "steps") }

func (d *directory) catchUp() error {
	size, err := d.current()
	if err != nil || size == d.end {
		return err
	}
	in := bufio.NewReader(io.NewSectionReader(d.steps, d.end, size-d.end))
	for {
		line, err := in.ReadString('\n')
		records, right := parseStep(line)
		if !right {
			break // where a process died as it wrote
		}
		if d.end += int64(len(line)); err != nil {
			return err
		}
		d.keep(records)
	}
	if d.end < size {
		return d.steps.Truncate(d.end)
	}
	return nil
}

// current returns the size of steps, and opens it where another process has
// written it anew.
func (d *directory) current() (int64, error) {
	there, err := os.Stat(d.name())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	if d.steps != nil && err == nil {
		if here, err := d.steps.Stat(); err == nil && os.SameFile(here, there) {
			return there.Size(), nil
		}
	}
	steps, err := os.OpenFile(d.name(), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	if d.steps != nil {
		_ = d.steps.Close()
	}
	d.steps, d.end, d.states = steps, 0, map[place]record{}
	opened, err := steps.Stat()
	if err != nil {
		return 0, err
	}
	return opened.Size(), nil
}

func (d *directory) keep(records []record) {
	for _, r := range records {
		if d.states[r.place] = r; r.text == "" {
			delete(d.states, r.place)
		}
	}
}

// append writes a step: this is where it is committed.
func (d *directory) append(records []record, latest algorithm.Instant) error {
	if len(records) == 0 {
		return nil
	}
	line := formatStep(records)
	if _, err := io.WriteString(d.steps, line); err != nil {
		known := store.ErrUnavailable
		if d.steps.Truncate(d.end) != nil {
			known = store.ErrOutcomeUnknown
		}
		return fmt.Errorf("filestore: write: %w: %w", known, err)
	}
	d.end += int64(len(line))
	d.keep(records)
	if d.end > worthwhile && d.end > 4*d.live() {
		_ = d.compact(latest) // the step is written; it can be tried again next time
	}
	return nil
}

// live is about how much of steps is still of use.
func (d *directory) live() (bytes int64) {
	for p, r := range d.states {
		bytes += int64(len(p.key) + len(p.limit) + len(p.kind) + len(r.text) + 40)
	}
	return bytes
}

// compact writes steps anew, without states that no clock up to a second behind
// the latest reading can miss. Renaming is where it happens.
func (d *directory) compact(latest algorithm.Instant) error {
	var text strings.Builder
	for p, r := range d.states {
		if r.until <= latest {
			delete(d.states, p)
			continue
		}
		text.WriteString(formatStep([]record{r}))
	}
	fresh := d.name() + ".new"
	if err := os.WriteFile(fresh, []byte(text.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, d.name()) // and be opened by the next call
}

// formatStep writes a step as a line: five fields for each record and a sum.
func formatStep(records []record) string {
	var line strings.Builder
	for _, r := range records {
		fmt.Fprintf(&line, "%q\t%q\t%s\t%s\t%d\t", r.key, r.limit, r.kind, strconv.Quote(r.text), r.until)
	}
	return fmt.Sprintf("%s%08x\n", line.String(), crc32.ChecksumIEEE([]byte(line.String())))
}

// parseStep reads a line; it is not right where it was cut off.
func parseStep(line string) (records []record, right bool) {
	body, found := strings.CutSuffix(line, "\n")
	if !found || len(body) < 8 || body[len(body)-8:] != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body[:len(body)-8]))) {
		return nil, false
	}
	fields := strings.Split(strings.TrimSuffix(body[:len(body)-8], "\t"), "\t")
	for ; len(fields) >= 5; fields = fields[5:] {
		key, err1 := strconv.Unquote(fields[0])
		limit, err2 := strconv.Unquote(fields[1])
		text, err3 := strconv.Unquote(fields[3])
		until, err4 := strconv.ParseInt(fields[4], 10, 64)
		if errors.Join(err1, err2, err3, err4) != nil {
			return nil, false
		}
		records = append(records, record{place{key, limit, fields[2]}, text, algorithm.Instant(until)})
	}
	return records, len(fields) == 0
}
