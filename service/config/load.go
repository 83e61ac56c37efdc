package config

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/document"
	"github.com/weirgo/weir/internal/document/words"
)

// Source is where a configuration comes from. The zero Source is the defaults.
type Source struct {
	// File is the name of the file; "" for none.
	File string
	// Environment are variables as os.Environ returns them. The variable of store.url is
	// WEIR_STORE_URL. Other variables are ignored, but for one whose name is a letter off.
	Environment []string
	// Flags are values by path, such as store.url: over the variables.
	Flags map[string]string
}

// FileEnvironment is the variable that names the file where no flag does.
const FileEnvironment = "WEIR_CONFIG"

// Load reads a configuration and checks it. Whatever is wrong is returned together, as an
// *Error; a file that cannot be read is another error.
func Load(s Source) (*Config, error) {
	d := &decoder{folder: filepath.Dir(s.File), sources: map[*document.Node]string{}, places: map[string]place{}}
	root := &document.Node{Kind: document.Mapping}
	c := defaults()
	if s.File != "" {
		text, err := readFile(s.File)
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		parsed, mistakes := document.Parse(text)
		for _, m := range mistakes {
			d.refuse(place{Place: m.Place}, FieldError{Problem: m.Message})
		}
		if parsed == nil {
			return nil, &Error{File: s.File, Fields: d.errs}
		}
		root, c.Version = parsed, 0
		d.places[""] = place{Place: document.Place{Line: 1, Column: 1}}
	}
	if root.Kind == document.Mapping {
		d.overlay(root, s)
	}
	d.structure(root, "", reflect.ValueOf(c).Elem())
	if len(d.errs) == 0 {
		d.check(c)
	}
	if len(d.errs) > 0 {
		slices.SortStableFunc(d.errs, func(a, b *FieldError) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, &Error{File: s.File, Fields: d.errs}
	}
	return c, nil
}

// maxFile bounds a file that is read.
const maxFile = document.MaxBytes

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return text, err
}

// Paths returns the paths of all fields that a variable or a flag may have, in the order
// of the configuration.
func Paths() []string { return pathsOf(reflect.TypeFor[Config](), "") }

func pathsOf(t reflect.Type, path string) (all []string) {
	for _, f := range fieldsOf(t) {
		of, below := t.Field(f.index).Type, join(path, f.name)
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case of.Kind() == reflect.Struct && of != reflect.TypeFor[time.Duration]():
			all = append(all, pathsOf(of, below)...)
		case of.Kind() != reflect.Map:
			all = append(all, below)
		}
	}
	return all
}

// Variable returns the name of the variable of a path.
func Variable(path string) string {
	return "WEIR_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// overlay sets what variables and flags say in the tree of the file.
func (d *decoder) overlay(root *document.Node, s Source) {
	variables := map[string]string{}
	for _, path := range Paths() {
		variables[Variable(path)] = path
	}
	names := slices.Sorted(maps.Keys(variables))
	for _, pair := range s.Environment {
		name, text, _ := strings.Cut(pair, "=")
		path, known := variables[name]
		switch {
		case known:
			d.set(root, path, text, name)
		case strings.HasPrefix(name, "WEIR_") && name != FileEnvironment:
			if near := words.Nearest(name, names); near != "" {
				d.refuse(place{source: name}, FieldError{Problem: "unknown variable", Allowed: "left out; did you mean " + near + "?"})
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Flags)) {
		source := "flag of " + path
		if !slices.Contains(Paths(), path) {
			e := FieldError{Path: path, Problem: "unknown field"}
			if near := words.Nearest(path, Paths()); near != "" {
				e.Allowed = "a field of the configuration; did you mean " + near + "?"
			}
			d.refuse(place{source: source}, e)
			continue
		}
		d.set(root, path, s.Flags[path], source)
	}
}

// set makes a path of the tree a text.
func (d *decoder) set(n *document.Node, path, text, source string) {
	name, rest, deeper := strings.Cut(path, ".")
	i := slices.IndexFunc(n.Fields, func(f document.Field) bool { return f.Name == name })
	if i < 0 {
		n.Fields = append(n.Fields, document.Field{Name: name, Value: &document.Node{}})
		i = len(n.Fields) - 1
	}
	f := &n.Fields[i]
	if !deeper {
		f.Value = &document.Node{Kind: document.Text, Text: text}
		d.sources[f.Value] = source
		return
	}
	if f.Value.Kind == document.Null {
		f.Value = &document.Node{Place: f.Value.Place, Kind: document.Mapping}
	}
	if f.Value.Kind == document.Mapping { // another kind is refused when it is read
		d.set(f.Value, rest, text, source)
	}
}
