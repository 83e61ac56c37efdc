package trace

import (
	"math"
	"strings"
	"testing"
)

func TestUsableJSONLines(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		at   int64
		key  string
		cost int64
	}{
		"usual":                      {`{"at_us":1700000000000000,"key":"user:1","cost":1}`, 1700000000000000, "user:1", 1},
		"cost absent":                {`{"at_us":1,"key":"k"}`, 1, "k", 1},
		"cost zero":                  {`{"at_us":1,"key":"k","cost":0}`, 1, "k", 0},
		"cost largest":               {`{"at_us":1,"key":"k","cost":9223372036854775807}`, 1, "k", math.MaxInt64},
		"at zero":                    {`{"at_us":0,"key":"k"}`, 0, "k", 1},
		"at minus zero":              {`{"at_us":-0,"key":"k","cost":-0}`, 0, "k", 0},
		"at largest":                 {`{"at_us":7000000000000000,"key":"k"}`, MaxAt, "k", 1},
		"at not representable/16":    {`{"at_us":6999999999999999,"key":"k","cost":9007199254740993}`, 6999999999999999, "k", 9007199254740993},
		"any order":                  {`{"cost":3,"key":"k","at_us":2}`, 2, "k", 3},
		"spaces":                     {" \t{ \"at_us\" :\t1 , \"key\" : \"k\" } \t", 1, "k", 1},
		"unknown plain":              {`{"s":"x","n":-1.5E+3,"z":0,"t":true,"f":false,"o":null,"at_us":1,"key":"k"}`, 1, "k", 1},
		"unknown nested":             {`{"at_us":1,"m":{"key":"no","a":[1,{"at_us":2}],"s":"}]"},"key":"k","e":{},"l":[]}`, 1, "k", 1},
		"unknown twice":              {`{"x":1,"at_us":1,"x":2,"key":"k"}`, 1, "k", 1},
		"unknown broken UTF-8":       {"{\"at_us\":1,\"x\":\"\xff\",\"\xff\":2,\"key\":\"k\"}", 1, "k", 1},
		"unknown half surrogate":     {`{"at_us":1,"x":"\ud800","key":"k"}`, 1, "k", 1},
		"unknown large number":       {`{"at_us":1,"x":123456789012345678901234567890,"key":"k"}`, 1, "k", 1},
		"names are exact":            {`{"At_us":5,"KEY":"x","Cost":-1,"at_us":1,"key":"k"}`, 1, "k", 1},
		"escaped names":              {`{"\u0061t_us":1,"k\u0065y":"k","\u0063ost":2}`, 1, "k", 2},
		"escaped key":                {`{"at_us":1,"key":"a\"\\\/\b\f\n\r\t\u00e4\u0000"}`, 1, "a\"\\/\b\f\n\r\tä\x00", 1},
		"surrogate pair":             {`{"at_us":1,"key":"\ud83d\ude00\uD83D\uDE00"}`, 1, "😀😀", 1},
		"escaped backslash before u": {`{"at_us":1,"key":"\\ud800"}`, 1, `\ud800`, 1},
		"escaped replacement":        {`{"at_us":1,"key":"\ufffd�"}`, 1, "��", 1},
		"utf-8 key":                  {`{"at_us":1,"key":"käse€😀"}`, 1, "käse€😀", 1},
		"del is no control":          {"{\"at_us\":1,\"key\":\"\x7f\"}", 1, "\x7f", 1},
		"key like a name":            {`{"key":"at_us","at_us":1}`, 1, "at_us", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var f fields
			if reason := parserOf(t, "jsonl", "").parse([]byte(c.line), &f); reason != "" {
				t.Fatalf("refused: %s", reason)
			}
			if f.at != c.at || string(f.key) != c.key || f.cost != c.cost {
				t.Errorf("got %d %q %d, want %d %q %d", f.at, f.key, f.cost, c.at, c.key, c.cost)
			}
		})
	}
}

func TestUnusableJSONLines(t *testing.T) {
	for name, c := range map[string]struct{ line, reason string }{
		"words":               {`hello`, reasonNotJSON},
		"nul":                 {"\x00", reasonNotJSON},
		"cut off":             {`{"at_us":1,"key":"k"`, reasonNotJSON},
		"trailing garbage":    {`{"at_us":1,"key":"k"}x`, reasonNotJSON},
		"two objects":         {`{"at_us":1,"key":"k"}{"at_us":1,"key":"k"}`, reasonNotJSON},
		"comma at the end":    {`{"at_us":1,"key":"k",}`, reasonNotJSON},
		"no comma":            {`{"at_us":1 "key":"k"}`, reasonNotJSON},
		"comma first":         {`{,"at_us":1,"key":"k"}`, reasonNotJSON},
		"single quotes":       {`{'at_us':1,'key':'k'}`, reasonNotJSON},
		"leading zero":        {`{"at_us":01,"key":"k"}`, reasonNotJSON},
		"plus":                {`{"at_us":+1,"key":"k"}`, reasonNotJSON},
		"hexadecimal":         {`{"at_us":0x1,"key":"k"}`, reasonNotJSON},
		"point without digit": {`{"at_us":1,"key":"k","x":1.}`, reasonNotJSON},
		"exponent without":    {`{"at_us":1,"key":"k","x":1e}`, reasonNotJSON},
		"minus alone":         {`{"at_us":1,"key":"k","x":-}`, reasonNotJSON},
		"zeros in unknown":    {`{"at_us":1,"key":"k","x":00}`, reasonNotJSON},
		"word cut off":        {`{"at_us":1,"key":"k","x":tru}`, reasonNotJSON},
		"NaN":                 {`{"at_us":NaN,"key":"k"}`, reasonNotJSON},
		"nul in key":          {"{\"at_us\":1,\"key\":\"a\x00b\"}", reasonNotJSON},
		"tab in key":          {"{\"at_us\":1,\"key\":\"a\tb\"}", reasonNotJSON},
		"unknown escape":      {`{"at_us":1,"key":"\q"}`, reasonNotJSON},
		"mark inside":         {"\xef\xbb\xbf{\"at_us\":1,\"key\":\"k\"}", reasonNotJSON},
		"array":               {`[{"at_us":1,"key":"k"}]`, reasonNotObject},
		"number":              {`1700000000000000`, reasonNotObject},
		"null":                {`null`, reasonNotObject},
		"string":              {`"x"`, reasonNotObject},
		"very deep":           {`{"at_us":1,"key":"k","x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, reasonNotJSON},

		"empty object":   {`{}`, "at_us is missing"},
		"at missing":     {`{"key":"k"}`, "at_us is missing"},
		"at other case":  {`{"AT_US":1,"key":"k"}`, "at_us is missing"},
		"at nested":      {`{"x":{"at_us":1},"key":"k"}`, "at_us is missing"},
		"at string":      {`{"at_us":"1","key":"k"}`, "at_us is not a number"},
		"at null":        {`{"at_us":null,"key":"k"}`, "at_us is not a number"},
		"at true":        {`{"at_us":true,"key":"k"}`, "at_us is not a number"},
		"at object":      {`{"at_us":{},"key":"k"}`, "at_us is not a number"},
		"at fraction":    {`{"at_us":1.5,"key":"k"}`, "at_us is not written as a whole number"},
		"at whole float": {`{"at_us":1.0,"key":"k"}`, "at_us is not written as a whole number"},
		"at exponent":    {`{"at_us":1e3,"key":"k"}`, "at_us is not written as a whole number"},
		"at EXPONENT":    {`{"at_us":17E14,"key":"k"}`, "at_us is not written as a whole number"},
		"at negative":    {`{"at_us":-1,"key":"k"}`, "at_us is negative"},
		"at late":        {`{"at_us":7000000000000001,"key":"k"}`, "at_us is above 7000000000000000"},
		"at above int64": {`{"at_us":9223372036854775808,"key":"k"}`, "at_us is above 7000000000000000"},
		"at wraps":       {`{"at_us":18446744073709551617,"key":"k"}`, "at_us is above 7000000000000000"},
		"at wraps twice": {`{"at_us":340282366920938463463374607431768211457,"key":"k"}`, "at_us is above 7000000000000000"},
		"at twice":       {`{"at_us":1,"key":"k","at_us":1}`, "at_us stands there twice"},
		"at escaped too": {`{"at_us":1,"key":"k","\u0061t_us":1}`, "at_us stands there twice"},

		"key missing":            {`{"at_us":1}`, "key is missing"},
		"key empty":              {`{"at_us":1,"key":""}`, "key is empty"},
		"key number":             {`{"at_us":1,"key":7}`, "key is not a string"},
		"key null":               {`{"at_us":1,"key":null}`, "key is not a string"},
		"key array":              {`{"at_us":1,"key":["k"]}`, ""},
		"key twice":              {`{"at_us":1,"key":"a","key":"a"}`, "key stands there twice"},
		"key broken UTF-8":       {"{\"at_us\":1,\"key\":\"a\xff\"}", "key is not valid UTF-8"},
		"key broken and escaped": {"{\"at_us\":1,\"key\":\"\\n\xc3\"}", "key is not valid UTF-8"},
		"key encoded surrogate":  {"{\"at_us\":1,\"key\":\"\xed\xa0\x80\"}", "key is not valid UTF-8"},
		"key high surrogate":     {`{"at_us":1,"key":"\ud800"}`, "key holds half a surrogate pair"},
		"key low surrogate":      {`{"at_us":1,"key":"\udc00"}`, "key holds half a surrogate pair"},
		"key swapped surrogates": {`{"at_us":1,"key":"\udc00\ud800"}`, "key holds half a surrogate pair"},
		"key low twice":          {`{"at_us":1,"key":"\udc00\udc00"}`, "key holds half a surrogate pair"},
		"key high and other":     {`{"at_us":1,"key":"\ud800\u0041"}`, "key holds half a surrogate pair"},
		"key high twice":         {`{"at_us":1,"key":"\ud800\ud800\udc00"}`, "key holds half a surrogate pair"},
		"key high and escape":    {`{"at_us":1,"key":"\ud800\n12345"}`, "key holds half a surrogate pair"},

		"cost negative":    {`{"at_us":1,"key":"k","cost":-3}`, "cost is negative"},
		"cost fraction":    {`{"at_us":1,"key":"k","cost":0.5}`, "cost is not written as a whole number"},
		"cost whole float": {`{"at_us":1,"key":"k","cost":2.0}`, "cost is not written as a whole number"},
		"cost above int64": {`{"at_us":1,"key":"k","cost":9223372036854775808}`, "cost is above 9223372036854775807"},
		"cost of 20":       {`{"at_us":1,"key":"k","cost":18446744073709551617}`, "cost is above 9223372036854775807"},
		"cost string":      {`{"at_us":1,"key":"k","cost":"1"}`, "cost is not a number"},
		"cost null":        {`{"at_us":1,"key":"k","cost":null}`, "cost is not a number"},
		"cost twice":       {`{"at_us":1,"cost":1,"key":"k","cost":1}`, "cost stands there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var f fields
			if reason := parserOf(t, "jsonl", "").parse([]byte(c.line), &f); reason != c.reason {
				t.Errorf("reason %q, want %q (read as %d %q %d)", reason, c.reason, f.at, f.key, f.cost)
			}
		})
	}
}

// What one line says must not be seen in the next.
func TestJSONLineLeavesNothingForTheNext(t *testing.T) {
	text := `{"at_us":5,"key":"long key","cost":7}
{"at_us":6,"key":"b","cost":-1}
{"at_us":6,"key":"\u0062"}
{"at_us":6,"key":"b"}
`
	got, _ := readAll(t, text, nil)
	if len(got) != 3 || got[1].Cost != 1 || got[2].Cost != 1 || keysOf(got) != "long key b b" {
		t.Errorf("events %v", got)
	}
}
