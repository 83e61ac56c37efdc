package scenario

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is a field of a struct of a scenario, with the rules that its tags hold.
type field struct {
	index    int
	name     string // in a text
	required bool
	bounded  bool
	lo, hi   int64 // in ns, millionths, units, bytes or items
	choices  []string
	usual    string // the default
	each     *field // of the items of a list of numbers
	kinds    map[string]use
	draw     *field // the range that Generate draws from
	undrawn  bool   // Generate leaves it out
}

// use is how a kind takes a field.
type use struct {
	required bool
	usual    string
}

// schema is the fields of a struct.
type schema struct {
	fields []field
	kind   int // the index in fields of the field "kind"; -1 where there is none
}

// schemas holds the schema of each struct that a Scenario has.
var schemas = func() map[reflect.Type]*schema {
	all := map[reflect.Type]*schema{}
	addSchema(all, reflect.TypeFor[Scenario]())
	return all
}()

func addSchema(all map[reflect.Type]*schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType || t == rateType || all[t] != nil {
		return
	}
	s := &schema{kind: -1}
	all[t] = s
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		if name == "kind" {
			s.kind = len(s.fields)
		}
		s.fields = append(s.fields, newField(i, name, f))
		addSchema(all, f.Type)
	}
}

func newField(index int, name string, f reflect.StructField) field {
	made := field{index: index, name: name}
	made.rule(f.Type, f.Tag.Get("rule"))
	if text := f.Tag.Get("each"); text != "" {
		made.each = new(field)
		made.each.rule(f.Type.Elem(), text)
	}
	if text := f.Tag.Get("draw"); text == "never" {
		made.undrawn = true
	} else if text != "" {
		made.draw = new(field)
		if t := f.Type; t.Kind() == reflect.Slice {
			made.draw.rule(t.Elem(), text)
		} else {
			made.draw.rule(t, text)
		}
	}
	for _, text := range strings.Fields(f.Tag.Get("kinds")) {
		if made.kinds == nil {
			made.kinds = map[string]use{}
		}
		kind, usual, _ := strings.Cut(text, "=")
		kind, required := strings.CutSuffix(kind, "!")
		made.kinds[kind] = use{required, cmp.Or(usual, made.usual)}
	}
	return made
}

// rule reads the tag rule of a field of type t.
func (f *field) rule(t reflect.Type, text string) {
	for _, word := range strings.Fields(text) {
		lo, hi, ranged := strings.Cut(word, "..")
		switch {
		case word == "required":
			f.required = true
		case strings.HasPrefix(word, "="):
			f.usual = word[1:]
		case ranged:
			f.bounded, f.lo, f.hi = true, numberOf(t, lo), numberOf(t, hi)
		default:
			f.choices = strings.Split(word, "|")
		}
	}
}

// numberOf reads a bound of a field of type t.
func numberOf(t reflect.Type, text string) int64 {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var n int64
	var err error
	switch t {
	case durationType:
		var d time.Duration
		d, err = time.ParseDuration(text)
		n = int64(d)
	case decimalType:
		var d Decimal
		err = d.UnmarshalText([]byte(text))
		n = int64(d)
	default:
		n, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil {
		panic("scenario: a rule holds " + strconv.Quote(text) + ": " + err.Error())
	}
	return n
}

// kindOf returns the kind of a struct, or "" where it has none or the kind was left out
// and has no default.
func (s *schema) kindOf(v reflect.Value) string {
	if s.kind < 0 {
		return ""
	}
	f := &s.fields[s.kind]
	return cmp.Or(v.Field(f.index).String(), f.usual)
}

// use returns how a kind takes a field, and false where it does not.
func (f *field) use(kind string) (use, bool) {
	if f.kinds == nil {
		return use{f.required, f.usual}, true
	}
	u, takes := f.kinds[kind]
	return u, takes
}

// takes returns the fields that a kind takes, for an error.
func (s *schema) takes(kind string) string {
	var names []string
	for i := range s.fields {
		f := &s.fields[i]
		if _, takes := f.use(kind); takes && f.kinds != nil {
			names = append(names, f.name)
		}
	}
	if names == nil {
		return "no fields"
	}
	return strings.Join(names, ", ")
}

// Complete returns v, a struct of this package, with the fields that were left out set
// to their defaults. The structs in v stay as they are. v must be valid.
func Complete[T any](v T) T {
	s := schemas[reflect.TypeFor[T]()]
	if s == nil {
		panic(fmt.Sprintf("scenario: Complete of a %T", v))
	}
	target := reflect.ValueOf(&v).Elem()
	kind := s.kindOf(target)
	for i := range s.fields {
		f := &s.fields[i]
		if u, takes := f.use(kind); takes && u.usual != "" && target.Field(f.index).IsZero() {
			f.set(target.Field(f.index), u.usual)
		}
	}
	if c, is := any(&v).(interface{ complete() }); is {
		c.complete()
	}
	return v
}

// set sets a field to a default.
func (f *field) set(v reflect.Value, text string) {
	if v.Kind() == reflect.String {
		v.SetString(text)
		return
	}
	v.SetInt(numberOf(v.Type(), text))
}

// complete sets the default of Start.
func (s *Scenario) complete() {
	if s.Start.IsZero() {
		s.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
}

// complete sets the default of Delta, which depends on Limit.
func (p *Process) complete() {
	if p.Kind == "boundary" && p.Delta == 0 {
		p.Delta = min(time.Millisecond, p.Limit.Per/2).Truncate(time.Microsecond)
	}
}

// complete raises the default of Cap to Base.
func (r *Retries) complete() {
	if r.Base > 0 {
		r.Cap = max(r.Cap, r.Base)
	}
}

// validate checks a value by the rules of its tags, and calls its method cross, which
// compares its fields.
func validate(v reflect.Value, path string) error {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return validate(v.Elem(), path)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if err := validate(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	s := schemas[v.Type()]
	if s == nil {
		return nil // no struct of a scenario
	}
	kind := s.kindOf(v)
	if s.kind >= 0 {
		if f := &s.fields[s.kind]; !slices.Contains(f.choices, kind) {
			return refuse(join(path, f.name), strconv.Quote(kind), "one of "+strings.Join(f.choices, ", "))
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		if err := f.check(s, kind, v.Field(f.index), join(path, f.name)); err != nil {
			return err
		}
	}
	if c, is := v.Addr().Interface().(interface{ cross(path string) error }); is {
		return c.cross(path)
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// check checks a field of a struct that has a kind, or "".
func (f *field) check(s *schema, kind string, v reflect.Value, path string) error {
	u, takes := f.use(kind)
	switch absent := v.IsZero(); {
	case absent && u.required && f.kinds != nil:
		return refuse(path, shown(v), f.allowed(v)+": "+kind+" needs it")
	case absent && u.required:
		return refuse(path, shown(v), f.allowed(v))
	case absent:
		return nil
	case !takes:
		return refuse(path, shown(v), "absent: "+kind+" takes "+s.takes(kind))
	}
	if v.Kind() == reflect.Pointer {
		if v.Type() != decimalPointerType {
			return validate(v, path)
		}
		v = v.Elem()
	}
	if r, is := v.Interface().(Rate); is && !validRate(r) {
		return refuse(path, r.String(), allowedRate)
	}
	if !f.fits(v) {
		return refuse(path, shown(v), f.allowed(v))
	}
	if f.each != nil {
		for i := range v.Len() {
			if item := v.Index(i); !f.each.fits(item) {
				return refuse(fmt.Sprintf("%s[%d]", path, i), shown(item), f.each.allowed(item))
			}
		}
	}
	return validate(v, path)
}

// fits reports whether a value keeps to the range or to the choices.
func (f *field) fits(v reflect.Value) bool {
	if f.choices != nil && !slices.Contains(f.choices, v.String()) {
		return false
	}
	if !f.bounded {
		return true
	}
	n := int64(0)
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		n = int64(v.Len())
	default:
		n = v.Int()
	}
	return n >= f.lo && n <= f.hi && (v.Type() != durationType || n%int64(time.Microsecond) == 0)
}

// allowed says which values fit.
func (f *field) allowed(v reflect.Value) string {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case f.choices != nil:
		return "one of " + strings.Join(f.choices, ", ")
	case t == rateType:
		return allowedRate
	case t == durationType:
		return fmt.Sprintf("whole microseconds from %v to %v", time.Duration(f.lo), time.Duration(f.hi))
	case t == decimalType:
		return fmt.Sprintf("from %v to %v", Decimal(f.lo), Decimal(f.hi))
	case t.Kind() == reflect.String && f.bounded:
		return fmt.Sprintf("a text of %d to %d bytes", f.lo, f.hi)
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && f.bounded:
		return fmt.Sprintf("%d to %d of them", f.lo, f.hi)
	case f.hi == math.MaxInt64:
		return fmt.Sprintf("from %d", f.lo)
	case f.bounded:
		return fmt.Sprintf("%d to %d", f.lo, f.hi)
	}
	return "given"
}

// shown is a value as an error shows it.
func shown(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "left out"
	case v.Kind() == reflect.Pointer:
		return shown(v.Elem())
	case v.Kind() == reflect.String && (v.Len() > 100 || v.Len() == 0 || v.Type() != reflect.TypeFor[string]()):
		return strconv.Quote(v.String()[:min(v.Len(), 100)])
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
		return strconv.Itoa(v.Len()) + " of them"
	}
	return fmt.Sprint(v.Interface())
}

func refuse(path string, value any, allowed string) error {
	return &Error{Path: path, Value: fmt.Sprint(value), Allowed: allowed}
}
