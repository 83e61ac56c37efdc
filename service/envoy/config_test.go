package envoy

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMistakesHaveTheTextsOfUpstream: a tool that reads the errors keeps reading them.
func TestMistakesHaveTheTextsOfUpstream(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty domain":        {"descriptors: []\n", "config file cannot have empty domain"},
		"no text":             {"", "config file cannot have empty domain"},
		"empty key":           {"domain: d\ndescriptors: [{value: v}]", "descriptor has empty key"},
		"duplicate key":       {"domain: d\ndescriptors: [{key: k, value: v}, {key: k, value: v}]", "duplicate descriptor composite key 'd.k_v'"},
		"duplicate composite": {"domain: d\ndescriptors: [{key: k, value: v}, {key: k_v}]", "duplicate descriptor composite key 'd.k_v'"},
		"duplicate below":     {"domain: d\ndescriptors: [{key: k, descriptors: [{key: a}, {key: a}]}]", "duplicate descriptor composite key 'd.k.a'"},
		"unit":                {"domain: d\ndescriptors: [{key: k, rate_limit: {unit: foo, requests_per_unit: 5}}]", "invalid rate limit unit 'foo'"},
		"unit unknown":        {"domain: d\ndescriptors: [{key: k, rate_limit: {unit: unknown}}]", "invalid rate limit unit 'unknown'"},
		"no unit":             {"domain: d\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 5}}]", "invalid rate limit unit ''"},
		"unlimited with unit": {"domain: d\ndescriptors: [{key: k, rate_limit: {unlimited: true, unit: day}}]", "should not specify rate limit unit when unlimited"},
		"replaces itself":     {"domain: d\ndescriptors: [{key: k, rate_limit: {name: a, replaces: [{name: a}], unit: day}}]", "replaces should not contain name of same descriptor"},
		"replaces nothing":    {"domain: d\ndescriptors: [{key: k, rate_limit: {replaces: [{name: \"\"}], unit: day}}]", "should not have an empty replaces entry"},
		"unknown key":         {"domain: d\ndescriptors: [{key: k, ratelimit: {unit: day}}]", "config error, unknown key 'ratelimit'"},
		"first unknown key":   {"domain: d\nb: 1\na: 1", "config error, unknown key 'b'"},
		"key of no text":      {"0.25: d", "config error, key is not of type string: 0.25"},
		"list of scalars":     {"domain: d\ndescriptors: [a, b]", "config error, yaml file contains list of type other than map: a"},
		"number with a point": {"domain: d\ndescriptors: [{key: k, value: 0.5}]", "error checking config"},
		"no wildcard":         {"domain: d\ndescriptors: [{key: k, share_threshold: true}]", "share_threshold can only be used with wildcard values (containing '*'), but found key 'k'"},
		"bad yaml":            {"domain: d\n\tdescriptors: []", "error loading config file: yaml: line 2: found a tab character that violates indentation"},
		"bad number":          {"domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: -1}}]", "error loading config file: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!int `-1` into uint32"},
		"no map":              {"- a", "error loading config file: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into map[interface {}]interface {}"},
		"weir and unit":       {"domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, weir: {limit: \"gcra:1/1s\"}}}]", "should not specify unit or requests_per_unit beside weir"},
		"weir unlimited":      {"domain: d\ndescriptors: [{key: k, rate_limit: {unlimited: true, weir: {limit: \"gcra:1/1s\"}}}]", "should not specify weir when unlimited"},
		"weir without limit":  {"domain: d\ndescriptors: [{key: k, rate_limit: {weir: {algorithm: gcra}}}]", `weir must have one key: {limit: "ALGORITHM:LIMIT/PERIOD"}`},
		"weir of no form":     {"domain: d\ndescriptors: [{key: k, rate_limit: {weir: 5}}]", `weir must have one key: {limit: "ALGORITHM:LIMIT/PERIOD"}`},
		"weir too large":      {"domain: d\ndescriptors: [{key: k, rate_limit: {weir: {limit: \"gcra:5000000000/1s\"}}}]", "invalid weir limit: limit 5000000000 is not allowed: must be at most 4294967295"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]File{{"f.yaml", c.text}}, nil)
			if mistake := (*ConfigError)(nil); !errors.As(err, &mistake) || err.Error() != "f.yaml: "+c.want {
				t.Errorf("got %v\nwant f.yaml: %s", err, c.want)
			}
		})
	}
}

func TestStrictRefusesTheExtension(t *testing.T) {
	files := []File{{"f.yaml", "domain: d\ndescriptors: [{key: k, rate_limit: {weir: {limit: \"gcra:1/1s\"}}}]"}}
	if _, err := Parse(files, nil); err != nil {
		t.Error(err)
	}
	const want = "f.yaml: config error, unknown key 'weir'"
	if _, err := Parse(files, &ParseOptions{Strict: true}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestInvalidWeirLimitIsShown(t *testing.T) {
	_, err := Parse([]File{{"f.yaml", "domain: d\ndescriptors: [{key: k, rate_limit: {weir: {limit: \"gcra:1/day\"}}}]"}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "f.yaml: invalid weir limit: ") || !strings.Contains(err.Error(), "24h") {
		t.Error(err)
	}
}

func TestDomainsOfSeveralFiles(t *testing.T) {
	file := func(name, key string) File {
		return File{name, "domain: d\ndescriptors: [{key: " + key + ", rate_limit: {unit: day, requests_per_unit: 1}}]"}
	}
	two := []File{file("1.yaml", "b"), file("2.yaml", "a")}
	if _, err := Parse(two, nil); err == nil || err.Error() != "2.yaml: duplicate domain 'd' in config file" {
		t.Error(err)
	}
	merge := &ParseOptions{MergeDomains: true}
	c, err := Parse(two, merge)
	must(t, c, err)
	const want = "d.b: unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false\nd.a: unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false\n"
	if diff := cmp.Diff(want, c.Dump()); diff != "" {
		t.Error(diff)
	}
	if _, err := Parse([]File{file("1.yaml", "a"), file("2.yaml", "a")}, merge); err == nil || err.Error() != "2.yaml: duplicate descriptor composite key 'd.a'" {
		t.Error(err)
	}
	empty, err := Parse(nil, nil)
	if must(t, empty, err); !empty.Empty() || c.Empty() {
		t.Error("only a configuration without domains is empty")
	}
}

// TestScalarsAreThoseOfYAML11: a value that is written as a number is its text.
func TestScalarsAreThoseOfYAML11(t *testing.T) {
	s, _ := serviceOf(t, `
domain: d
descriptors:
  - {key: status, value: 404, shadow_mode: yes, rate_limit: {unit: Minute, requests_per_unit: 1}}
  - {key: twice, rate_limit: {unit: HOUR, requests_per_unit: 0x10}}
`, nil)
	if got := codesOf(s.askOne(t, "d status=404 twice=x")); got != "OK OK:0 OK:15" {
		t.Error(got)
	}
	if got := codesOf(s.askOne(t, "d status=404")); got != "OK OK:0" {
		t.Errorf("yes is no boolean: %s", got)
	}
}
