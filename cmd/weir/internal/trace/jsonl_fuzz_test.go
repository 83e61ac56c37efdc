package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzJSONLine compares the decoder with one that is made of encoding/json alone.
func FuzzJSONLine(f *testing.F) {
	f.Fuzz(compareJSONLine)
}

func compareJSONLine(t *testing.T, line []byte) {
	var got fields
	reason := parserOf(t, "jsonl", "").parse(line, &got)
	want, ok := oracle(line)
	if ok != (reason == "") {
		t.Fatalf("%q: reason %q, encoding/json accepts: %v", line, reason, ok)
	}
	if ok && !got.equal(&want) {
		t.Fatalf("%q: got %d %q %d, want %d %q %d", line, got.at, got.key, got.cost, want.at, want.key, want.cost)
	}
}

func (f *fields) equal(o *fields) bool {
	return f.at == o.at && f.cost == o.cost && bytes.Equal(f.key, o.key)
}

// Random bytes are seldom nearly right. Lines made of the parts of real ones are.
func TestJSONLinesMadeOfPartsAreReadAsByTheStandardLibrary(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	names := []string{`"at_us"`, `"key"`, `"cost"`, `"at_us"`, `"key"`, `"cost"`, `"x"`, `"\u0061t_us"`, `"KEY"`, `""`, "\"\xff\"", `"co\st"`}
	numbers := []string{
		"0", "1", "-0", "-1", "00", "1.0", "1e3", "1E+3", "0.5e-1", "1.", ".5", "-", "+1", "7000000000000000", "7000000000000001",
		"9223372036854775807", "9223372036854775808", "9999999999999999999", "18446744073709551616", "10000000000000000000000",
	}
	strs := []string{
		`"k"`, `""`, `"ä€😀"`, "\"\xff\"", `"\n"`, `"\u00e4"`, `"\ud83d\ude00"`, `"\ud800"`, `"\ude00\ud83d"`, `"\ufffd"`, `"\\ud800"`,
		"\"\x00\"", "\"\x7f\"", `"`, `"\`, `"\q"`, `"\u12"`,
	}
	others := []string{"true", "false", "null", "nul", "{}", "[]", `[1,{"key":"}"}]`, `{"at_us":[`, ""}
	spaces := []string{"", "", "", "", " ", "\t", "\r", "\n", "\v", "\u00a0"}
	value := func() string {
		switch rng.IntN(8) {
		case 0:
			return pick(others)
		case 1, 2, 3:
			return pick(strs)
		}
		return pick(numbers)
	}
	usable := 0
	for range 50_000 {
		members := []string{}
		if rng.IntN(4) > 0 { // else only what is drawn
			members = append(members, `"at_us":12`, `"key":"user:1"`)
		}
		for range rng.IntN(3) {
			s := func() string { return pick(spaces) }
			members = append(members, s()+pick(names)+s()+":"+s()+value()+s())
		}
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		line := []byte(pick(spaces) + "{" + strings.Join(members, ",") + "}" + pick(spaces))
		if rng.IntN(10) == 0 {
			line[rng.IntN(len(line))] = byte(rng.IntN(256))
		}
		compareJSONLine(t, line)
		if _, ok := oracle(line); ok {
			usable++
		}
	}
	if usable < 5_000 || usable > 45_000 {
		t.Errorf("%d of 50,000 lines are usable: the parts are badly mixed", usable)
	}
}

// oracle follows the rules of the format with the tokens of encoding/json.
func oracle(line []byte) (f fields, ok bool) {
	if !json.Valid(line) {
		return f, false
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return f, false
	}
	f.cost = 1
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return f, false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return f, false
		}
		switch name {
		case "at_us", "key", "cost":
			if seen[name.(string)] {
				return f, false
			}
			seen[name.(string)] = true
		}
		switch name {
		case "at_us":
			f.at, ok = parsedNumber(string(value))
			ok = ok && f.at <= 7e15
		case "cost":
			f.cost, ok = parsedNumber(string(value))
		case "key":
			f.key, ok = exactString(value)
			ok = ok && len(f.key) > 0
		default:
			ok = true
		}
		if !ok {
			return f, false
		}
	}
	if _, err := d.Token(); err != nil {
		return f, false
	}
	if _, err := d.Token(); err != io.EOF {
		return f, false
	}
	return f, seen["at_us"] && seen["key"]
}

func parsedNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

var escapes = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|[^u])`)

// exactString decodes a string, and fails where encoding/json put a U+FFFD for something else: where one is left after those that
// are really written were taken out.
func exactString(quoted []byte) ([]byte, bool) {
	var s, rest string
	if quoted[0] != '"' || !utf8.Valid(quoted) || json.Unmarshal(quoted, &s) != nil {
		return nil, false
	}
	without := escapes.ReplaceAllStringFunc(strings.ReplaceAll(string(quoted), "\ufffd", "x"), func(e string) string {
		if strings.EqualFold(e, `\ufffd`) {
			return "x"
		}
		return e
	})
	if json.Unmarshal([]byte(without), &rest) != nil {
		return nil, false
	}
	return []byte(s), !strings.Contains(rest, "\ufffd")
}
