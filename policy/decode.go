package policy

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/document"
	"github.com/weirgo/weir/internal/document/words"
)

// decoder fills a Policy from a document. What a value means is for Compile: the decoder
// refuses unknown fields and values of another type, and goes on behind them.
type decoder struct {
	places map[string]document.Place // of values; of the name where the value is a list or a mapping
	keys   map[string]document.Place // of names that the user chose
	errs   []*FieldError

	wrong   map[string]bool // the paths of errs
	missing map[string]bool // what is not there because of one of errs
}

func newDecoder() *decoder {
	return &decoder{
		places: map[string]document.Place{}, keys: map[string]document.Place{}, wrong: map[string]bool{}, missing: map[string]bool{},
	}
}

var (
	timeType       = reflect.TypeFor[time.Time]()
	specType       = reflect.TypeFor[Spec]()
	limitRefType   = reflect.TypeFor[LimitRef]()
	conditionsType = reflect.TypeFor[Conditions]()
)

func (d *decoder) decode(root *document.Node, into *Policy) {
	d.places[""] = root.Place
	d.value(root, nil, reflect.ValueOf(into).Elem())
}

func (d *decoder) refuse(at document.Place, e FieldError) {
	e.Line, e.Column = at.Line, at.Column
	d.add(&e)
}

func (d *decoder) add(e *FieldError) {
	d.errs = append(d.errs, e)
	if len(e.Path) == 0 {
		return
	}
	d.wrong[e.Path.String()] = true
	around := e.Path[:len(e.Path)-1]
	if e.Suggestion != "" || e.Problem != unknownField {
		d.missing[around.String()] = true
	}
	if e.Suggestion != "" {
		d.missing[around.with(e.Suggestion).String()] = true
	}
}

// wrongType refuses a node that is not what has to stand there.
func (d *decoder) wrongType(n *document.Node, path Path, allowed string) {
	e := FieldError{Path: path, Value: n.Text, Allowed: allowed}
	if n.Text == "" {
		e.Problem = n.Kind.String() + " is not allowed"
	}
	d.refuse(n.Place, e)
}

// explains reports whether an error of Compile only repeats what the decoder found: a
// value that was not read is missing, and so is the field whose name is misspelt.
func (d *decoder) explains(e *FieldError) bool {
	if e.Value == "" && d.missing[e.Path.String()] {
		return true
	}
	for n := range e.Path {
		if d.wrong[e.Path[:n+1].String()] {
			return true
		}
	}
	return false
}

const unknownField = "unknown field"

func (d *decoder) value(n *document.Node, path Path, v reflect.Value) {
	switch t := v.Type(); {
	case t == limitRefType && n.Kind != document.Mapping:
		d.scalar(n, path, v.FieldByName("Spec"))
	case t == timeType:
		d.time(n, path, v)
	case t == conditionsType:
		d.conditions(n, path, v)
	case t.Kind() == reflect.Struct:
		d.structure(n, path, v)
	case t.Kind() == reflect.Map:
		d.names(n, path, v)
	case t.Kind() == reflect.Slice:
		d.list(n, path, v)
	default:
		d.scalar(n, path, v)
	}
}

// structure reads a mapping with known fields.
func (d *decoder) structure(n *document.Node, path Path, v reflect.Value) {
	if n.Kind != document.Mapping {
		d.wrongType(n, path, "a mapping")
		return
	}
	known := fieldsOf(v.Type())
	for _, f := range n.Fields {
		below := path.with(f.Name)
		index, is := known.index[f.Name]
		if !is {
			d.refuse(f.Place, FieldError{Path: below, Problem: unknownField, Unknown: true,
				Allowed: "one of " + strings.Join(known.names, ", "), Suggestion: words.Nearest(f.Name, known.names)})
			continue
		}
		d.note(below, f)
		d.value(f.Value, below, v.Field(index))
		d.refuseZero(f.Value, below, known.info[f.Name], v.Field(index))
	}
}

// refuseZero refuses a zero value that stands in the text: in Go it is the default, but
// who writes it means something else.
func (d *decoder) refuseZero(n *document.Node, path Path, info *fieldInfo, v reflect.Value) {
	switch k := n.Kind; {
	case info.some && (k == document.Mapping || k == document.List) && v.Len() == 0:
		d.refuse(n.Place, FieldError{Path: path, Problem: "is empty", Allowed: "left out, or have an entry"})
	case (info.pattern != "" || info.choices != nil) && k == document.Text && n.Text == "":
		d.refuse(n.Place, FieldError{Path: path, Problem: "is empty", Allowed: "left out, or have a value"})
	case v.Type() == limitRefType && k == document.Mapping && len(n.Fields) == 0:
		d.refuse(n.Place, FieldError{Path: path, Problem: "is empty", Allowed: "a spec, a tier, or both"})
	case info.max > 0 && k == document.Integer && strings.Trim(n.Text, "-0") == "":
		d.refuse(n.Place, FieldError{Path: path, Value: n.Text, Allowed: fmt.Sprintf("%d to %d", info.min, info.max)})
	}
}

// note keeps the place of a field: of its value where that is a scalar, and of its name
// otherwise.
func (d *decoder) note(path Path, f document.Field) {
	at := f.Value.Place
	if k := f.Value.Kind; k == document.Mapping || k == document.List {
		at = f.Place
	}
	d.places[path.String()] = at
}

// names reads a mapping with names of the user.
func (d *decoder) names(n *document.Node, path Path, v reflect.Value) {
	if n.Kind != document.Mapping {
		d.wrongType(n, path, "a mapping")
		return
	}
	if len(n.Fields) == 0 {
		return // as if absent
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Fields)))
	for _, f := range n.Fields {
		below := path.with(f.Name)
		d.note(below, f)
		d.keys[below.String()] = f.Place
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(f.Value, below, element)
		v.SetMapIndex(reflect.ValueOf(f.Name).Convert(v.Type().Key()), element)
	}
}

func (d *decoder) list(n *document.Node, path Path, v reflect.Value) {
	if n.Kind != document.List {
		d.wrongType(n, path, "a list")
		return
	}
	if len(n.Items) == 0 {
		return // as if absent
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		below := path.with(i)
		d.places[below.String()] = item.Place
		d.value(item, below, v.Index(i))
	}
}

// conditions reads what attributes must be: a value, or a list of values.
func (d *decoder) conditions(n *document.Node, path Path, v reflect.Value) {
	if n.Kind != document.Mapping {
		d.wrongType(n, path, "a mapping of attributes")
		return
	}
	if len(n.Fields) == 0 {
		return // as if absent
	}
	all := Conditions{}
	for _, f := range n.Fields {
		below := path.with(f.Name)
		d.places[below.String()] = f.Place
		items := f.Value.Items
		if f.Value.Kind != document.List {
			items = []*document.Node{f.Value}
		}
		if all[f.Name] = []string{}; len(items) == 0 {
			d.refuse(f.Value.Place, FieldError{Path: below, Problem: "no value", Allowed: `left out, or have one: "*" is any, "" is none`})
		}
		for i, item := range items {
			d.places[below.with(i).String()] = item.Place
			switch item.Kind {
			case document.Text, document.Integer, document.Float, document.Bool:
				all[f.Name] = append(all[f.Name], item.Text)
			default:
				d.wrongType(item, below.with(i), "a text or a number")
			}
		}
	}
	v.Set(reflect.ValueOf(all))
}

func (d *decoder) time(n *document.Node, path Path, v reflect.Value) {
	const allowed = "RFC 3339 with a zone, such as 2026-12-31T00:00:00Z"
	at, err := time.Parse(time.RFC3339Nano, n.Text)
	if n.Kind != document.Text || err != nil || at.IsZero() { // the zero time means none in Go
		d.wrongType(n, path, allowed)
		return
	}
	v.Set(reflect.ValueOf(at.UTC()))
}

// scalar reads a text, a number, or a switch.
func (d *decoder) scalar(n *document.Node, path Path, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		number := n.Kind == document.Integer && v.Type() == specType // 0 is a limit
		if n.Kind != document.Text && !number {
			d.wrongType(n, path, "a text")
			return
		}
		if v.Type() == specType && n.Text == "" {
			d.refuse(n.Place, FieldError{Path: path, Problem: "is empty", Allowed: "a limit, such as gcra:100/1m"})
			return
		}
		v.SetString(n.Text)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Text, 10, 64)
		if n.Kind != document.Integer || err != nil {
			d.wrongType(n, path, "a whole number")
			return
		}
		v.SetInt(i)
	case reflect.Bool:
		if n.Kind != document.Bool {
			d.wrongType(n, path, "true or false")
			return
		}
		v.SetBool(n.Text == "true")
	default:
		panic("policy: no rule to decode " + v.Type().String())
	}
}
