package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// mistakes has every kind of mistake that a file can have, with what the line says at
// its end: the column, and what the error begins with.
const mistakes = `version: 2                                       # 10 version "2" is not allowed: must be 1
attributes:
  ip: {type: adress}                             # 14 attributes.ip.type "adress" is not allowed: must be text or address; did you mean "address"?
default_tier: gold                               # 15 default_tier "gold": unknown tier: must be one of a, b, free
tiers:
  free: {limits: {api: "gcra:60/1m,burst=0"}}    # 24 tiers.free.limits.api "gcra:60/1m,burst=0": burst 0 is not allowed: must be 1 to
  a: {extends: b}                                # 16 tiers.a.extends "b": a cycle: a → b → a: must be a tier that does not extend this one
  b: {extends: a}                                # 16 tiers.b.extends "a": a cycle: b → a → b
rules:
  - {id: one, limit: "sliding-window:5/1m"}      # 22 rules[0].limit "sliding-window:5/1m": algorithm "sliding-window" is not allowed: must be
  - {id: one, limit: "grca:5/1m"}                # 10 rules[1].id "one": is the id of rules[0], too: must be unique
  - {id: two, limit: gcra:5/month}               # 22 rules[2].limit "gcra:5/month": period "month" is not allowed
  - {id: three, limti: gcra:5/1m}                # 17 rules[3].limti: unknown field: must be one of id, match,
  - id: four                                     # 5 rules[4]: no limit: must be one of limit, limits and endpoints
  - {id: five, key: [ipp], limit: gcra:1/1s}     # 22 rules[5].key[0] "ipp": unknown attribute: must be one of
  - {id: six, match: {endpoints: ["GET x"]}, limit: gcra:1/1s}  # 35 rules[6].match.endpoints[0] "GET x":
  - id: seven
    endpoints:
      "GET /a/{x}": gcra:1/1s
      "GET /{x}/b": gcra:3/1s                    # 7 rules[7].endpoints["GET /{x}/b"] "GET /{x}/b": conflicts with "GET /a/{x}"
  - {id: eight, limit: gcra:1/1s, replaces: [nine]}  # 46 rules[8].replaces[0] "nine": unknown rule: must be one of
  - {id: ten, limit: gcra:1/1s, replaces: [eleven]}
  - {id: eleven, limit: gcra:1/1s, replaces: [ten]}  # 47 rules[10].replaces[0] "ten": a cycle: ten → eleven → ten
  - {id: twelve, limit: gcra:1/1s, cost: {attribute: units}}  # 36 rules[11].cost.default: no cost for requests without the attribute: must be 1 to
overrides:
  - {rule: one, match: {org: x}, limit: gcra:1/1s}  # 5 overrides[0].until: an override without an end
  - {rule: one, match: {org: x}, limit: gcra:1/1s, until: 2026-12-31T00:00:00}  # 59 overrides[1].until "2026-12-31T00:00:00" is not allowed: must be RFC 3339 with a zone
`

// TestEveryMistakeIsShownAtItsPlace: all errors of a file at once, in the order of the
// file.
func TestEveryMistakeIsShownAtItsPlace(t *testing.T) {
	_, err := Parse([]byte(mistakes), nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	found := map[int][]string{}
	for _, e := range invalid.Fields {
		found[e.Line] = append(found[e.Line], e.Error())
	}
	for i, line := range strings.Split(mistakes, "\n") {
		_, comment, has := strings.Cut(line, "# ")
		if !has {
			if len(found[i+1]) > 0 {
				t.Errorf("line %d: %q", i+1, found[i+1])
			}
			continue
		}
		column, text, _ := strings.Cut(comment, " ")
		want := fmt.Sprintf("line %d, column %s: %s", i+1, column, text)
		if !slices.ContainsFunc(found[i+1], func(got string) bool { return strings.HasPrefix(got, want) }) {
			t.Errorf("got  %q\nwant %s", found[i+1], want)
		}
	}
	sorted := slices.IsSortedFunc(invalid.Fields, func(a, b *FieldError) int { return a.Line - b.Line })
	if !sorted {
		t.Error("the errors are not in the order of the file")
	}
}

func TestWholePolicyIsRead(t *testing.T) {
	file, err := Parse([]byte(whole), &CompileOptions{SecretKey: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	direct, err := Compile(wholePolicy(), &CompileOptions{SecretKey: make([]byte, 16)})
	if err != nil || file.Compiled.Version() != direct.Version() {
		t.Errorf("%v: version %s from the text, %s from Go", err, file.Compiled.Version(), direct.Version())
	}
	for path, want := range map[string]Path{
		"11:5":  {"rules", 0},
		"12:25": {"rules", 0, "match", "endpoints", 0},
		"12:60": {"rules", 0, "match", "attributes", "org", 0},
		"14:12": {"rules", 0, "limit"},
		"32:7":  {"rules", 2, "endpoints", "GET /api/orders/{id}"},
		"1:1":   {"nothing", 1},
	} {
		line, column := file.Place(want)
		if got := fmt.Sprintf("%d:%d", line, column); got != path {
			t.Errorf("%s is at %s, want %s", want, got, path)
		}
	}
}

// TestMistakeIsShownOnce: what was not read is not missing as well.
func TestMistakeIsShownOnce(t *testing.T) {
	for _, text := range []string{
		"version: 1\nrules: [{id: a, limti: gcra:1/1s}]\n",
		"version: 1\nrules: [{id: a, limit: [x]}]\n",
		"version: 1\nrules: [{id: 1, limit: gcra:1/1s}]\n",
		"version: 1\nrules: [{idd: a, limit: gcra:1/1s}]\n",
		"version: x\n",
		"versoin: 1\n",
		"version: 1\nrules: [{id: a, limit: gcra:1/1s}]\noverrides: [{rule: a, match: {org: x}, limit: 0, until: tomorrow}]\n",
		"version: 1\nrules: [{id: a, limit: gcra:1/1s, key: ip}]\n",
		"version: 1\nrules: [{id: a, limit: gcra:1/1s}]\nlists: {deny: [{match: {ip: {}}}]}\n",
		"version: 1\nrules: [{id: a, limit: gcra:1/1s}]\nlists: {deny: [{match: {ip: []}}]}\n",
	} {
		_, err := Parse([]byte(text), nil)
		var invalid *InvalidError
		if !errors.As(err, &invalid) || len(invalid.Fields) != 1 {
			t.Errorf("%s%v", text, err)
		}
	}
}

// TestOtherMistakesAreShownToo: what is missing is not put down to any unknown field.
func TestOtherMistakesAreShownToo(t *testing.T) {
	for text, want := range map[string]int{
		"title: x\nrules: []\n":                             2, // no version
		"version: 1\nrules: [{id: a, colour: red}]\n":       2, // no limit
		"version: 1\nrules: [{limit: gcra:1/1s, idx: a}]\n": 1, // id is meant
		"version: 1\nrules: [{limit: gcra:1/1s, foo: a}]\n": 2, // no id
	} {
		_, err := Parse([]byte(text), nil)
		var invalid *InvalidError
		if !errors.As(err, &invalid) || len(invalid.Fields) != want {
			t.Errorf("%s%v", text, err)
		}
	}
}

func TestWrongOptionIsNoMistakeOfTheFile(t *testing.T) {
	_, err := Parse([]byte("version: 1\nattributes: {a: {secret: true}}\n"), nil)
	if !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
}

func TestCustomAlgorithmIsNamedInAPolicy(t *testing.T) {
	text := []byte("version: 1\nrules: [{id: a, limit: \"own:5/1s\"}]\n")
	if _, err := Parse(text, nil); err == nil {
		t.Error("an algorithm that is nowhere defined was read")
	}
	registry, err := algorithm.NewRegistry(algorithm.Family{Name: "own", Kind: "own/1", Build: func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) {
		inner, err := algorithm.NewFixedWindow(r)
		return own{inner}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(text, &CompileOptions{Registry: registry}); err != nil {
		t.Error(err)
	}
}

// own is an algorithm of a user.
type own struct{ algorithm.Algorithm }

func (o own) Spec() algorithm.Spec {
	s := o.Algorithm.Spec()
	s.Kind = "own/1"
	return s
}

func TestLoadNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	if _, err := Load(name, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(name, []byte("version: 1\nrule: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(name, nil); err == nil || !strings.HasPrefix(err.Error(), "policy: "+name+": line 2, column 1: rule: unknown field") {
		t.Error(err)
	}
}

// TestAMistakeHidesNoOtherOfItsRule: an error that is about a whole rule, or a whole tier, is
// one beside those of its fields.
func TestAMistakeHidesNoOtherOfItsRule(t *testing.T) {
	_, err := Parse([]byte(`version: 1
rules:
  - id: a
    key: [nobody]
    replaces: [c]
    warn_at: 101
  - id: b
    key: [somebody]
overrides:
  - {rule: d, match: {user: x}, limit: gcra}
`), nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range invalid.Fields {
		got = append(got, f.Path.String())
	}
	want := "rules[0] rules[0].key[0] rules[0].replaces[0] rules[0].warn_at rules[1] rules[1].key[0] overrides[0].until overrides[0].rule overrides[0].limit"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}
