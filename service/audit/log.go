package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Log. nil means all defaults.
type Options struct {
	// Keep is for how many days files are kept, today's not counted. 0 is 90; 1 or more.
	Keep int
	// HashKey is the key of the hash of users, 16 bytes or more. Logs of several nodes
	// can be searched together where they have the same. nil: a random key is made once and
	// kept in the folder.
	HashKey []byte
	// Clock gives the time of entries. nil is the wall clock.
	Clock store.Clock
}

// Bounds.
const (
	defaultKeep = 90
	minHashKey  = 16
	maxLine     = 1 << 20 // bytes
	keyFile     = "hash.key"
	lockFile    = "lock"
	prefix      = "audit-"
	suffix      = ".jsonl"
	day         = "2006-01-02"
)

// ErrInUse is that another Log has the folder. Two of them would write over each other's
// lines.
var ErrInUse = errors.New("the folder is written by another process: must be a folder for each")

// Log is a log in a folder. No other Log of this or another process has the folder, where the
// system has locks (Unix). It is safe for concurrent use;
// a line costs a sync of the disk, and lines wait for each other.
type Log struct {
	folder string
	key    []byte
	keep   int
	now    func() time.Time

	locked *os.File // nobody else writes the folder while it is open
	mu     sync.Mutex
	file   *os.File // nil: to be opened with the next line
	date   string   // of file
	size   int64    // of what is written and synced; -1 where it is not known
	seq    int64    // of the last line
	closed bool
}

// Open opens the log in a folder, and makes the folder where it is missing. The sequence
// goes on behind the last line that is there. A line that a crash has cut short stays, and
// is passed over by Read. A folder that another Log has gives ErrInUse.
func Open(folder string, opts *Options) (log *Log, err error) {
	if opts == nil {
		opts = &Options{}
	}
	l := &Log{folder: folder, keep: opts.Keep, now: time.Now, size: -1}
	if l.keep == 0 {
		l.keep = defaultKeep
	}
	if opts.Clock != nil {
		l.now = opts.Clock.Now
	}
	if l.keep < 1 {
		return nil, fmt.Errorf("audit: Options.Keep %d is not allowed: must be 0 (90) or more", opts.Keep)
	}
	if n := len(opts.HashKey); n > 0 && n < minHashKey {
		return nil, fmt.Errorf("audit: Options.HashKey of %d bytes is not allowed: must be nil, or %d bytes or more", n, minHashKey)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if l.locked, err = lock(filepath.Join(folder, lockFile)); err != nil {
		return nil, fmt.Errorf("audit: %s: %w", folder, err)
	}
	defer func() {
		if err != nil {
			_ = l.locked.Close() // nothing was written
		}
	}()
	if l.key = slices.Clone(opts.HashKey); len(l.key) == 0 {
		key, err := ownKey(filepath.Join(folder, keyFile))
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		l.key = key
	}
	dates, err := l.dates()
	if err != nil {
		return nil, err
	}
	for _, date := range slices.Backward(dates) {
		if l.seq, err = l.lastSeq(date); err != nil {
			return nil, err
		}
		if l.seq > 0 {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	date := l.now().UTC().Format(day)
	if n := len(dates); n > 0 {
		date = max(date, dates[n-1]) // the clock may have gone back: the order of the files is that of the lines
	}
	if err := l.roll(date); err != nil {
		return nil, err
	}
	return l, nil
}

// ownKey reads the key of a folder, or makes it.
func ownKey(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err == nil {
		key, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(key) < minHashKey {
			return nil, fmt.Errorf("%s is no key: must be %d or more hex digits", name, 2*minHashKey)
		}
		return key, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	// Under another name first: a full disk and a crash leave no part of a key, with which
	// nothing would start again.
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return key, os.Rename(name+".new", name)
}

// UserTarget returns the Target of a user of a tenant: "user:" and 32 hex digits of a hash
// under the key of the log.
func (l *Log) UserTarget(tenant, user string) string {
	mac := hmac.New(sha256.New, l.key)
	fmt.Fprintf(mac, "%d:%s:%s", len(tenant), tenant, user)
	return "user:" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// Write appends one line, and returns it with its Time and Seq. It returns when the line
// is on the disk. With an error nothing was written.
func (l *Log) Write(e Entry) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Entry{}, errors.New("audit: the log is closed")
	}
	e.Time = l.now().UTC()
	// A clock that goes back stays in the file of the day.
	if date := e.Time.Format(day); l.file == nil || date > l.date {
		if err := l.roll(max(date, l.date)); err != nil {
			return Entry{}, err
		}
	}
	e.Seq = l.seq + 1
	line, err := json.Marshal(e)
	if err != nil {
		return Entry{}, fmt.Errorf("audit: %w", err)
	}
	if len(line) > maxLine {
		return Entry{}, fmt.Errorf("audit: an entry of %d bytes is not allowed: must be at most %d", len(line), maxLine)
	}
	if err := l.append(append(line, '\n')); err != nil {
		return Entry{}, err
	}
	l.seq = e.Seq
	return e, nil
}

// append writes a line and syncs it. What was written of a line that failed is cut off, so
// that no line is there that its writer believes is not.
func (l *Log) append(line []byte) error {
	_, err := l.file.WriteAt(line, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err == nil {
		l.size += int64(len(line))
		return nil
	}
	cut := l.file.Truncate(l.size)
	if cut == nil {
		cut = l.file.Sync()
	}
	err = fmt.Errorf("audit: write: %w", errors.Join(err, cut))
	_ = l.file.Close() // it is opened anew with the next line
	l.file = nil
	return err
}

// roll opens the file of a day, and deletes those that are too old.
func (l *Log) roll(date string) error {
	if l.file != nil {
		_ = l.file.Close() // everything in it is synced
		l.file = nil
	}
	f, err := os.OpenFile(l.path(date), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	size, err := whole(f)
	if err == nil {
		err = syncFolder(l.folder)
	}
	if err != nil {
		return fmt.Errorf("audit: %w", errors.Join(err, f.Close()))
	}
	last, err := l.lastSeq(date)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.date, l.size, l.seq = f, date, size, max(l.seq, last)
	return l.drop(date)
}

// whole returns the size of a file, after a line that was cut short was ended.
func whole(f *os.File) (size int64, err error) {
	if size, err = f.Seek(0, io.SeekEnd); err != nil || size == 0 {
		return size, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	if _, err := f.WriteAt([]byte{'\n'}, size); err != nil {
		return 0, err
	}
	return size + 1, f.Sync()
}

// syncFolder makes a new file survive a crash.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// drop deletes the files that are older than a day by more than keep days.
func (l *Log) drop(date string) error {
	today, err := time.Parse(day, date)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	oldest := today.AddDate(0, 0, -l.keep).Format(day)
	dates, err := l.dates()
	if err != nil {
		return err
	}
	for _, d := range dates {
		if d < oldest {
			if err := os.Remove(l.path(d)); err != nil {
				return fmt.Errorf("audit: %w", err)
			}
		}
	}
	return nil
}

func (l *Log) path(date string) string { return filepath.Join(l.folder, prefix+date+suffix) }

// dates returns the days that have a file, in order.
func (l *Log) dates() ([]string, error) {
	files, err := os.ReadDir(l.folder)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	var dates []string
	for _, f := range files {
		date, is := strings.CutPrefix(f.Name(), prefix)
		if date, ends := strings.CutSuffix(date, suffix); is && ends {
			if _, err := time.Parse(day, date); err == nil {
				dates = append(dates, date)
			}
		}
	}
	return dates, nil
}

// Close closes the file, and lets others have the folder. Everything is on the disk already.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	err := l.locked.Close()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	l.file = nil
	return err
}
