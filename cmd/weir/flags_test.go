package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// allFlags has a field of each type, and each tag.
type allFlags struct {
	common
	Files   []string       `arg:"" help:"files"`
	Quick   bool           `xor:"depth" help:"a switch"`
	Checks  *int           `xor:"depth" placeholder:"N"`
	Seed    *uint64        `placeholder:"N"`
	For     *time.Duration `placeholder:"D"`
	Prefix  *string        `placeholder:"TEXT"`
	Share   int            `default:"128" placeholder:"N"`
	Unit    string         `default:"" enum:",s,ms" placeholder:"UNIT"`
	JSONOut string         `name:"json" placeholder:"FILE"`
}

type common struct {
	LogFormat string   `required:"" placeholder:"TEXT"`
	Limit     []string `placeholder:"SPEC"`
}

func TestFlagsAreRead(t *testing.T) {
	var got allFlags
	line := "a --log-format x --limit 1 b --limit=2,3 --quick --seed 7 --for=90s --prefix= --json - -- --c -"
	if err := parseOptions(optionsOf(reflect.ValueOf(&got).Elem()), strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	seed, lasts, prefix := uint64(7), 90*time.Second, ""
	want := allFlags{
		common: common{"x", []string{"1", "2,3"}}, Files: []string{"a", "b", "--c", "-"}, Quick: true,
		Seed: &seed, For: &lasts, Prefix: &prefix, Share: 128, JSONOut: "-",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"":                                        "--log-format=TEXT is missing",
		"--log-format x":                          "<files> ... is missing",
		"a --log-format":                          "--log-format: the value is missing: must be --log-format=TEXT",
		"a --log-format x --log-format":           "--log-format: the value is missing: must be --log-format=TEXT",
		"a --log-format x --seed x":               `--seed: "x" is not allowed: invalid syntax`,
		"a --log-format x --for 10":               `--for: "10" is not allowed: time: missing unit in duration "10"`,
		"a --log-format x --unit d":               `--unit: "d" is not allowed: must be one of "","s","ms"`,
		"a --log-format x --seed=1 --sx":          "unknown flag --sx",
		"a --log-format x -s":                     "unknown flag -s",
		"a --log-format x --quickly":              `unknown flag --quickly: did you mean "--quick"?`,
		"a --log-form x":                          `unknown flag --log-form: did you mean "--log-format"?`,
		"a --log-format x --seed 1 --seed 2":      "--seed was given twice: must be once",
		"a --log-format x --quick --checks 3":     "--quick and --checks were both given: must be one of them",
		"a --log-format x --quick=maybe":          `--quick: "maybe" is not allowed: invalid syntax`,
		"a --log-format x --share 99999999999999": "",
	} {
		err := parseOptions(optionsOf(reflect.ValueOf(&allFlags{}).Elem()), strings.Fields(line))
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
	var one struct {
		Name string `arg:"optional"`
	}
	if err := parseOptions(optionsOf(reflect.ValueOf(&one).Elem()), []string{"a", "b"}); err == nil || err.Error() != `"b" is one argument too many` {
		t.Error(err)
	}
}

// Every flag of every command has a type that can be read, and says what it is.
func TestEveryFlagCanBeRead(t *testing.T) {
	for _, c := range commands() {
		for _, o := range optionsOf(reflect.ValueOf(c.make()).Elem()) {
			if o.tag("help") == "" || !o.isSwitch() && !o.isArgument() && o.tags.Get("placeholder") == "" {
				t.Errorf("weir %s: %s has no help or no placeholder", c.name, o.name)
			}
			_ = o.set("") // panics where the type is none
		}
	}
}
