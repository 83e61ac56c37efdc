package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// option is a flag or an argument of a command: a field of its struct, whose tags are
//
//	help         what it is
//	placeholder  what stands for its value; "" for a flag without one
//	name         its name, where it is not that of the field
//	short        a letter for its name
//	default      its value where it is not given
//	enum         the values that it takes, with commas between
//	arg          "": it is an argument and no flag; "optional": it may be missing
//	required     "": it must be given
//	xor          a word that all flags have of which only one may be given
//
// In help and enum ${name} is a word of flagVars.
type option struct {
	name  string
	tags  reflect.StructTag
	value reflect.Value
	given bool
	texts []string // that were given for it
}

// optionsOf are the fields of a struct, and of the structs embedded in it.
func optionsOf(of reflect.Value) (all []*option) {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		if field.Anonymous {
			all = append(all, optionsOf(of.Field(i))...)
			continue
		}
		if !field.IsExported() {
			continue
		}
		name, named := field.Tag.Lookup("name")
		if !named {
			for j, c := range field.Name {
				if c < 'a' && j > 0 {
					name += "-"
				}
				name += strings.ToLower(string(c))
			}
		}
		all = append(all, &option{name: name, tags: field.Tag, value: of.Field(i)})
	}
	return all
}

func (o *option) isArgument() bool { _, is := o.tags.Lookup("arg"); return is }
func (o *option) isSwitch() bool   { return o.value.Kind() == reflect.Bool }
func (o *option) isList() bool     { return o.value.Kind() == reflect.Slice }

// flag is the name of a flag on a command line, and a word for an argument.
func (o *option) flag() string {
	if o.isArgument() {
		return strings.ToUpper(o.name)
	}
	return "--" + o.name
}

// tag is the text of a tag with its variables.
func (o *option) tag(name string) string {
	return os.Expand(o.tags.Get(name), func(v string) string { return flagVars[v] })
}

// values are what the option may be; nil is anything.
func (o *option) values() []string {
	if _, has := o.tags.Lookup("enum"); !has {
		return nil
	}
	return strings.Split(strings.ReplaceAll(o.tag("enum"), " ", ""), ",")
}

// shown is how the option is called in help and errors.
func (o *option) shown() string {
	switch {
	case o.isArgument() && o.isList():
		return "<" + o.name + "> ..."
	case o.isArgument():
		return "<" + o.name + ">"
	case o.tags.Get("short") != "":
		return "-" + o.tags.Get("short") + ", --" + o.name
	case o.isSwitch():
		return "--" + o.name
	}
	return "--" + o.name + "=" + o.tags.Get("placeholder")
}

// set reads a value.
func (o *option) set(text string) error {
	if all := o.values(); all != nil && !slices.Contains(all, text) {
		return fmt.Errorf("%s: %q is not allowed: must be one of %s", o.flag(), text, `"`+strings.Join(all, `","`)+`"`)
	}
	o.texts = append(o.texts, text)
	var err error
	switch v := o.value.Addr().Interface().(type) {
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *string:
		*v = text
	case *[]string:
		*v = append(*v, text)
	case *int:
		*v, err = strconv.Atoi(text)
	case **string:
		*v = &text
	case **int:
		*v = new(int)
		**v, err = strconv.Atoi(text)
	case **uint64:
		*v = new(uint64)
		**v, err = strconv.ParseUint(text, 10, 64)
	case **time.Duration:
		*v = new(time.Duration)
		**v, err = time.ParseDuration(text)
	default:
		panic(fmt.Sprintf("--%s has a type that no flag can have: %s", o.name, o.value.Type()))
	}
	if number := (*strconv.NumError)(nil); errors.As(err, &number) {
		err = number.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not allowed: %w", o.flag(), text, err)
	}
	return nil
}

// parseOptions reads the words of a command line.
func parseOptions(all []*option, words []string) error {
	var arguments []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			arguments = append(arguments, words[i+1:]...)
			break
		}
		if word == "-" || !strings.HasPrefix(word, "-") {
			arguments = append(arguments, word)
			continue
		}
		name, text, has := strings.Cut(word, "=")
		o, err := findFlag(all, name)
		if err != nil {
			return err
		}
		switch {
		case o.isSwitch() && !has:
			text = "true"
		case !has && i+1 == len(words):
			return fmt.Errorf("%s: the value is missing: must be %s", name, o.shown())
		case !has:
			i++
			text = words[i]
		}
		if o.given && !o.isList() {
			return fmt.Errorf("%s was given twice: must be once", name)
		}
		if err := o.set(text); err != nil {
			return err
		}
		o.given = true
	}
	return finishOptions(all, arguments)
}

// finishOptions gives the arguments to whom they belong, and checks what is missing.
func finishOptions(all []*option, arguments []string) error {
	for i, o := range all {
		for o.isArgument() && len(arguments) > 0 && (!o.given || o.isList()) {
			if err := o.set(arguments[0]); err != nil {
				return err
			}
			o.given, arguments = true, arguments[1:]
		}
		if text, has := o.tags.Lookup("default"); has && !o.given {
			if err := o.set(text); err != nil {
				return err
			}
		}
		_, required := o.tags.Lookup("required")
		if (required || o.isArgument() && o.tags.Get("arg") != "optional") && !o.given {
			if values := o.values(); values != nil {
				return fmt.Errorf("%s is missing: must be one of %s", o.shown(), strings.Join(values, ", "))
			}
			return fmt.Errorf("%s is missing", o.shown())
		}
		for _, other := range all[:i] {
			if group := o.tags.Get("xor"); group != "" && group == other.tags.Get("xor") && o.given && other.given {
				return fmt.Errorf("--%s and --%s were both given: must be one of them", other.name, o.name)
			}
		}
	}
	if len(arguments) > 0 {
		return fmt.Errorf("%q is one argument too many", arguments[0])
	}
	return nil
}

// refuse refuses flags that are given and are not among those that a use takes.
func (s *streams) refuse(takes string, problem func(flag string) error) error {
	for _, o := range s.given {
		if flag := o.flag(); !slices.Contains(strings.Fields(takes), flag) {
			return usageError{problem(flag)}
		}
	}
	return nil
}

// findFlag finds a flag by its name, as it was written.
func findFlag(all []*option, name string) (*option, error) {
	like := ""
	for _, o := range all {
		if o.isArgument() {
			continue
		}
		if short := o.tags.Get("short"); name == "--"+o.name || short != "" && name == "-"+short {
			return o, nil
		}
		if own := "--" + o.name; len(name) > 4 && (strings.HasPrefix(name, own) || strings.HasPrefix(own, name)) {
			like = fmt.Sprintf(": did you mean %q?", own)
		}
	}
	return nil, fmt.Errorf("unknown flag %s%s", name, like)
}

// helpWidth is the width of a help text, and helpIndent where the second column begins.
const (
	helpWidth  = 100
	helpIndent = 25
)

// writeHelp writes rows of two columns, in which the second is broken into lines.
func writeHelp(w io.Writer, rows [][2]string) {
	for _, row := range rows {
		line := fmt.Sprintf("  %-*s", helpIndent-2, row[0])
		if len(row[0]) > helpIndent-4 {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", helpIndent)
		}
		for _, word := range strings.Fields(row[1]) {
			if len(line)+1+len(word) > helpWidth {
				fmt.Fprintln(w, strings.TrimRight(line, " "))
				line = strings.Repeat(" ", helpIndent)
			}
			line += word + " "
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
