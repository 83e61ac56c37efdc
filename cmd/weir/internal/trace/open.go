package trace

import (
	"fmt"
	"io"
	"strings"
)

// Options are the optional settings of Open. The zero value is all defaults.
type Options struct {
	// Format is the name of a format as listed by Formats. "" is auto.
	Format string

	// Key is the part of an access log line that becomes the key. KeyDefault is the host. Open refuses a Key that the
	// format does not have.
	Key Key

	// Sort sorts the events by time, stably, where the format alone would keep the order of the file. Access logs are
	// always sorted.
	Sort bool

	// RunEvents is how many events the sort holds in memory, 24 bytes each, before it writes them to a temporary file.
	// 0 is 1<<20. At most 1<<30.
	RunEvents int

	// TempDir is the folder of that temporary file. "" is os.TempDir().
	TempDir string
}

const (
	defaultRun = 1 << 20
	maxRun     = 1 << 30
)

// fields is what a parser finds in a line. The key may share memory with the line: it is valid until the next line.
type fields struct {
	at   int64
	key  []byte
	cost int64
}

// parser reads one line, which is not blank. It returns "" or why the line cannot be used; then f holds nothing of value.
type parser interface {
	parse(line []byte, f *fields) (reason string)
}

// format is one way to write a trace.
type format struct {
	name   string
	sorted bool // by time unless told otherwise
	keys   []Key
	parser func(k Key) parser
	looks  func(line []byte) bool // whether a line that cannot be used was still meant for this format
}

// formats is the table of all formats. Where one is a special case of another it stands before it: see detect.
var formats = []format{
	{name: "jsonl", keys: []Key{KeyDefault}, parser: func(Key) parser { return jsonl{} }, looks: looksJSON},
	{
		name: "combined", sorted: true, keys: []Key{KeyDefault, KeyHost, KeyPath, KeyHostPath, KeyUserAgent},
		parser: func(k Key) parser { return &accessLog{key: k, combined: true} }, looks: looksLog,
	},
	{
		name: "clf", sorted: true, keys: []Key{KeyDefault, KeyHost, KeyPath, KeyHostPath},
		parser: func(k Key) parser { return &accessLog{key: k} }, looks: looksLog,
	},
}

// OptionError is the error of Open, as text, where an option has no such value, or one that does not fit the format. Everything
// else that Open may return is about the input.
type OptionError string

func (e OptionError) Error() string { return string(e) }

func optionError(text string, args ...any) error {
	return OptionError("trace: " + fmt.Sprintf(text, args...))
}

const auto = "auto"

// Formats returns the names that Options.Format knows, in the order in which help should show them.
func Formats() []string {
	names := []string{auto}
	for i := range formats {
		names = append(names, formats[i].name)
	}
	return names
}

// Open starts to read a trace. Nil options are all defaults. Where the format is to be detected it reads from r at once,
// up to some 32 lines. It fails where r does, where no line tells a format, or where an option does not fit (an
// OptionError, which names it). An input of no lines, or of blank ones, is a trace of no events in any format.
func Open(r io.Reader, opts *Options) (*Reader, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.RunEvents < 0 || o.RunEvents > maxRun {
		return nil, optionError("run events: %d is not in 0 to %d", o.RunEvents, maxRun)
	}
	t := &Reader{lines: newLines(r, MaxLine), keys: interner{byName: map[string]uint32{}}}
	if err := t.choose(o.Format, o.Key); err != nil {
		return nil, err
	}
	if !hasKey(t.format, o.Key) {
		return nil, optionError("key: a %s trace has no choice %q", t.format.name, o.Key)
	}
	t.parser = t.format.parser(o.Key)
	if t.format.sorted || o.Sort {
		if o.RunEvents == 0 {
			o.RunEvents = defaultRun
		}
		t.sort = &sorter{limit: o.RunEvents, dir: o.TempDir}
	}
	return t, nil
}

// choose sets the format to the one named, or to the one detected.
func (r *Reader) choose(name string, k Key) (err error) {
	if name == "" || name == auto {
		r.format, err = detect(&r.lines, k)
		return err
	}
	for i := range formats {
		if formats[i].name == name {
			r.format = &formats[i]
			return nil
		}
	}
	return optionError("format: %q is not one of %s", name, strings.Join(Formats(), ", "))
}

func hasKey(f *format, k Key) bool {
	for _, have := range f.keys {
		if have == k {
			return true
		}
	}
	return false
}
