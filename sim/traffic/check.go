package traffic

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// refuse returns the error of a parameter: what was being built, the field as it is
// called in a file, its value and what is allowed.
func refuse(of, field, value, allowed string) error {
	return &algorithm.ParameterError{Of: "traffic: " + of, Field: field, Value: value, Allowed: allowed}
}

// kind is one choice of a struct that has a kind field.
type kind[T any] struct {
	name  string
	takes string // its fields, as in a file, in one line
	build T
}

// choose finds a kind by name and refuses config where it sets a field that the
// kind does not take. Of says what is being built, such as "process".
func choose[T any](of, name string, kinds []kind[T], config any) (k kind[T], err error) {
	i := slices.IndexFunc(kinds, func(k kind[T]) bool { return k.name == name })
	if i < 0 {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.name
		}
		return k, refuse(of, "kind", quoteEmpty(name), "one of "+strings.Join(names, ", "))
	}
	k = kinds[i]
	fields := strings.Fields(k.takes)
	v := reflect.ValueOf(config)
	for i := range v.NumField() {
		field, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if field == "kind" || v.Field(i).IsZero() || slices.Contains(fields, field) {
			continue
		}
		allowed := "absent: the kind takes " + strings.Join(fields, ", ")
		if len(fields) == 0 {
			allowed = "absent: the kind takes no fields"
		}
		return k, refuse(of+" "+name, field, fmt.Sprint(v.Field(i).Interface()), allowed)
	}
	return k, nil
}

func quoteEmpty(text string) string {
	if text == "" {
		return `""`
	}
	return text
}

// between refuses a value outside lo to hi.
func between[T int64 | Decimal](of, field string, v, lo, hi T) error {
	if v < lo || v > hi {
		return refuse(of, field, fmt.Sprint(v), fmt.Sprintf("from %v to %v", lo, hi))
	}
	return nil
}

// span refuses a length of time outside lo to hi, or with a part of a microsecond.
func span(of, field string, d, lo, hi time.Duration) error {
	if d < lo || d > hi || d%time.Microsecond != 0 {
		return refuse(of, field, d.String(), fmt.Sprintf("whole microseconds from %v to %v", lo, hi))
	}
	return nil
}

// longest is the longest time that a field may hold: 400 days.
const longest = algorithm.MaxPeriod

// defaults sets a field that was left out.
func defaults[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }
