package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirgo/weir/service/problem"
)

// MaxBody is the size of the largest body.
const MaxBody = 64 << 10

// body reads the body of a request of one of some media types.
func (c *call) body(types ...string) ([]byte, error) {
	sent := c.r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(sent)
	if err != nil || !slices.Contains(types, media) {
		return nil, problem.New(problem.MediaType, "the Content-Type must be "+strings.Join(types, " or "))
	}
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, problem.New(problem.TooLarge, fmt.Sprintf("the body must be at most %d bytes long", MaxBody))
	case err != nil:
		return nil, problem.New(problem.Malformed, "the body ends too early")
	case !utf8.Valid(text):
		return nil, problem.New(problem.Malformed, "the body is not UTF-8")
	}
	return text, nil
}

const (
	typeJSON = "application/json"
	typeYAML = "application/yaml"
	typeForm = "application/x-www-form-urlencoded"
)

// fields are the fields of an object, read one after the other. What is wrong is collected.
type fields struct {
	values map[string]json.RawMessage
	wrong  []problem.Field
}

// object reads a body that is an object with known fields. Names are compared byte by byte.
// known without any takes all.
func object(text []byte, known ...string) (*fields, error) {
	malformed := func(detail string, at ...problem.Field) error { return problem.New(problem.Malformed, detail, at...) }
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, malformed("the body must be a JSON object")
	}
	f := &fields{values: map[string]json.RawMessage{}}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, malformed("the body is not valid JSON")
		}
		name := token.(string) // within an object the decoder gives names
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, malformed("the body is not valid JSON")
		}
		path := repeated(value)
		if _, twice := f.values[name]; twice || path != nil {
			return nil, malformed("a field is given twice", problem.Field{Pointer: pointer(append([]string{name}, path...)...), Detail: "must be given once"})
		}
		if len(known) > 0 && !slices.Contains(known, name) {
			return nil, malformed("a field is not known", problem.Field{Pointer: pointer(name), Detail: "must be one of " + strings.Join(known, ", ")})
		}
		f.values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, malformed("the body is not valid JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("something follows the JSON object")
	}
	return f, nil
}

// repeated returns the path of a field that an object within valid JSON has twice, as deep as
// it may be; nil where there is none.
func repeated(value json.RawMessage) (path []string) {
	if value[0] != '{' && value[0] != '[' {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber() // a number that no float64 holds is no error
	return repeatedIn(d)
}

func repeatedIn(d *json.Decoder) (path []string) {
	opened, err := d.Token()
	if err != nil || opened != json.Delim('{') && opened != json.Delim('[') {
		return nil
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		name := strconv.Itoa(i)
		if opened == json.Delim('{') {
			token, err := d.Token()
			if err != nil {
				return nil
			}
			if name = token.(string); seen[name] { // within an object the decoder gives names
				return []string{name}
			}
			seen[name] = true
		}
		if below := repeatedIn(d); below != nil {
			return append([]string{name}, below...)
		}
	}
	_, _ = d.Token() // the end of what was opened
	return nil
}

// get reads a field into a value, and reports whether it is there. null is as if absent.
func (f *fields) get(name, allowed string, into any) bool {
	value, has := f.values[name]
	if !has || string(value) == "null" {
		return false
	}
	if err := json.Unmarshal(value, into); err != nil {
		f.add(name, "must be "+allowed)
		return false
	}
	return true
}

// text reads a text.
func (f *fields) text(name string) (value string) {
	f.get(name, "a text", &value)
	return value
}

// need adds an error where a field is missing.
func (f *fields) need(names ...string) {
	for _, name := range names {
		if value, has := f.values[name]; !has || string(value) == "null" {
			f.add(name, "is required")
		}
	}
}

func (f *fields) add(name, detail string) {
	f.wrong = append(f.wrong, problem.Field{Pointer: pointer(name), Detail: detail})
}

// err returns what was collected.
func (f *fields) err() error { return invalid(f.wrong) }

// invalid is a problem of values; nil where there is none.
func invalid(wrong []problem.Field) error {
	if len(wrong) == 0 {
		return nil
	}
	return problem.New(problem.Invalid, "values are not valid", wrong...)
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns the JSON pointer of a path.
func pointer(path ...string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + escapes.Replace(name))
	}
	return b.String()
}
