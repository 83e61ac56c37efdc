package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/policy/watch"
	"github.com/weirgo/weir/service/document"
)

var (
	ctx  = context.Background()
	noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

const example = `version: 1
attributes:
  ip:      {type: address, ipv6_prefix: 64}
  org:     {}
default_tier: free
tiers:
  free:       {limits: {api: "gcra:60/1m,burst=10", search: "sliding-log:10/1m"}}
  premium:    {extends: free, limits: {api: "gcra:600/1m,burst=100"}, algorithms: [gcra]}
rules:
  - id: login
    match: {endpoints: ["POST /login"]}
    key: [ip]
    limit: sliding-log:5/15m
    on_failure: closed
  - id: api
    match: {endpoints: ["/api/"], attributes: {org: ["!acme", "*"]}}
    key: [org]
    limit: {tier: api, spec: 0}
    cost: {attribute: units, default: 1, max: 10}
    on_missing: deny
    mode: enforce 10%
    active: {from: 2026-01-01T00:00:00+02:00, until: 2027-01-01T00:00:00.5Z}
    warn_at: 90
    calm_at: 50
  - id: total
    key: [org]
    limits: {minute: "gcra:10000/1m", day: unlimited}
    mode: shadow
    replaces: [login]
    colocate: org
  - id: ends
    key: [user]
    endpoints: {"POST /a": "gcra:1/1m", "GET /b/{id}": {tier: search}}
subjects:
  - {match: {org: acme}, tier: premium, limits: {api: "gcra:9000/1m"}}
overrides:
  - {rule: api, match: {org: initech}, limit: "gcra:2000/1m", until: 2026-12-31T00:00:00Z, reason: "mig\u0085ration 😀"}
lists:
  deny:  [{match: {ip: 203.0.113.0/24}, until: 2026-12-01T00:00:00Z, reason: scan}]
  allow: [{match: {ip: [10.0.0.0/8, "::1"]}}]
`

func open(t *testing.T, initial string) (*Rules, document.Document, *clock.Mock) {
	t.Helper()
	doc, err := new(document.Memory).Document("policy")
	if err != nil {
		t.Fatal(err)
	}
	now := clock.NewMock()
	now.Set(noon)
	r, err := Open(ctx, doc, &Options{Initial: []byte(initial), Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	return r, doc, now
}

func any1(string) bool { return true }

func ids(t *testing.T, r *Rules) (all []string) {
	t.Helper()
	rules, _, err := r.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		all = append(all, rule.ID)
	}
	return all
}

// TestADocumentKeepsThePolicy: a change of one rule leaves everything else as it was, and
// what is written is a policy for every reader.
func TestADocumentKeepsThePolicy(t *testing.T) {
	r, doc, _ := open(t, example)
	before, err := policy.Parse([]byte(example), nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := r.Create(ctx, "new", "a name \u0085\u2028 ü 😀", json.RawMessage(`{"id":"new","limit":"gcra:1/1s"}`))
	if err != nil {
		t.Fatal(err)
	}
	text, revision, err := doc.Read(ctx)
	if err != nil || revision != 2 {
		t.Fatal(revision, err)
	}
	after, err := policy.Parse(text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if v := after.Compiled.Version(); v != made.Version {
		t.Errorf("version %s, want %s", v, made.Version)
	}
	rest := after.Policy
	if rest.Rules = rest.Rules[:4]; !reflect.DeepEqual(rest, before.Policy) {
		t.Errorf("got  %+v\nwant %+v", rest, before.Policy)
	}
	got, err := r.Get(ctx, "new")
	if err != nil || got.Name != "a name \u0085\u2028 ü 😀" || !got.CreatedAt.Equal(noon) || !got.UpdatedAt.Equal(noon) {
		t.Errorf("%+v, %v", got, err)
	}
	if old, err := r.Get(ctx, "login"); err != nil || !old.CreatedAt.IsZero() {
		t.Errorf("a rule that was there before is made at %s, %v", old.CreatedAt, err)
	}
	if made.Before != nil || made.After.ETag() != got.ETag() {
		t.Errorf("%+v", made)
	}
	w, err := watch.New(ctx, doc, nil)
	if err != nil || w.Policy().Version() != made.Version {
		t.Errorf("a watcher: %v", err)
	}
}

// TestChangesAreConditional: on the ETag, which is another one after each change, also
// after one that changes nothing.
func TestChangesAreConditional(t *testing.T) {
	r, _, now := open(t, example)
	is := func(etag string) func(string) bool { return func(now string) bool { return now == etag } }
	first, err := r.Get(ctx, "login")
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := r.Get(ctx, "api"); other.ETag() == first.ETag() {
		t.Error("two rules have one ETag")
	}
	body := json.RawMessage(`{"id":"login","limit":"sliding-log:6/15m","key":["ip"]}`)
	made, err := r.Replace(ctx, "login", "", body, is(first.ETag()))
	if err != nil || made.Before.ETag() != first.ETag() || made.After.ETag() == first.ETag() {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := r.Replace(ctx, "login", "", body, is(first.ETag())); err != ErrChanged {
		t.Errorf("an old ETag: %v", err)
	}
	now.Add(time.Hour)
	again, err := r.Replace(ctx, "login", "n", body, is(made.After.ETag()))
	if err != nil || !again.After.UpdatedAt.Equal(noon.Add(time.Hour)) || !again.After.CreatedAt.IsZero() {
		t.Fatalf("%+v, %v", again.After, err)
	}
	same, err := r.Replace(ctx, "login", "n", body, is(again.After.ETag()))
	if err != nil || same.After.ETag() == again.After.ETag() {
		t.Errorf("a change that changes nothing keeps the ETag: %v", err)
	}
	if _, err := r.Delete(ctx, "login", is("x")); err != ErrChanged {
		t.Errorf("deleting with an old ETag: %v", err)
	}
	if got := ids(t, r); fmt.Sprint(got) != "[login api total ends]" {
		t.Errorf("the order is %v", got)
	}
	for name, err := range map[string]error{
		"get": second(r.Get(ctx, "no")), "replace": second(r.Replace(ctx, "no", "", body, any1)), "delete": second(r.Delete(ctx, "no", any1)),
	} {
		if err != ErrNotFound {
			t.Errorf("%s of a rule that is not there: %v", name, err)
		}
	}
	if _, err := r.Create(ctx, "login", "", body); err != ErrExists {
		t.Errorf("a second rule of an id: %v", err)
	}
	gone, err := r.Delete(ctx, "ends", any1)
	if err != nil || gone.After != nil || gone.Before.ID != "ends" || len(ids(t, r)) != 3 {
		t.Errorf("%+v, %v", gone, err)
	}
	made, err = r.Create(ctx, "ends", "", json.RawMessage(`{"id":"ends","limit":"gcra:1/1s"}`))
	if err != nil || !made.After.CreatedAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("a rule that is made anew: %+v, %v", made.After, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestWhatMakesNoPolicyIsRefused: with paths from the rule on, and nothing is written.
func TestWhatMakesNoPolicyIsRefused(t *testing.T) {
	r, doc, _ := open(t, example)
	for name, c := range map[string]struct {
		body   string
		fields string
	}{
		"unknown field": {`{"id":"n","limit":"gcra:1/1s","x":1}`, "x"},
		"below":         {`{"id":"n","limit":"gcra:1/1s","match":{"endpoints":["POST"]}}`, "match.endpoints[0]"},
		"several":       {`{"id":"n","limit":"gcra:x","key":["no"]}`, "limit key[0]"},
		"nothing":       {`{"id":"n"}`, "limit"},
		"name":          {`{"id":"n!","limit":"gcra:1/1s"}`, "id"},
	} {
		_, err := r.Create(ctx, "n", "", json.RawMessage(c.body))
		var e *InvalidError
		if !errors.As(err, &e) || len(e.Others) > 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range e.Fields {
			if got = append(got, f.Path.String()); f.Unknown != (name == "unknown field") || f.Line != 0 {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if name != "nothing" && strings.Join(got, " ") != c.fields {
			t.Errorf("%s: %q, want %s", name, got, c.fields)
		}
	}
	_, err := r.Delete(ctx, "login", any1) // total replaces it
	var e *InvalidError
	if !errors.As(err, &e) || len(e.Fields) != 0 || len(e.Others) != 1 {
		t.Errorf("deleting what another rule names: %v", err)
	}
	if _, revision, _ := doc.Read(ctx); revision != 1 {
		t.Errorf("revision %d: something was written", revision)
	}
}

// TestConcurrentChangesAreAllMade: and of those with one ETag, one.
func TestConcurrentChangesAreAllMade(t *testing.T) {
	r, _, _ := open(t, "version: 1\nrules: [{id: a, limit: \"gcra:1/1s\"}]\n")
	a, err := r.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	var mu sync.Mutex
	replaced := 0
	for i := range 8 {
		writers.Go(func() {
			id := fmt.Sprint("n", i)
			if _, err := r.Create(ctx, id, "", json.RawMessage(`{"id":"`+id+`","limit":"gcra:1/1s"}`)); err != nil {
				t.Error(err)
			}
			_, err := r.Replace(ctx, "a", "", json.RawMessage(`{"id":"a","limit":"gcra:2/1s"}`), func(etag string) bool { return etag == a.ETag() })
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				replaced++
			} else if err != ErrChanged {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if n := len(ids(t, r)); n != 9 || replaced != 1 {
		t.Errorf("%d rules, want 9; %d replaced, want 1", n, replaced)
	}
}

// TestACommentThatIsDamagedIsAnEmptyOne: the policy counts, and what was written by hand.
func TestACommentThatIsDamagedIsAnEmptyOne(t *testing.T) {
	for _, head := range []string{"", "# weir-rules: {", "# weir-rules: {\"change\":-1}", "# weir-rules: {\"rules\":null}", "# something else"} {
		r, _, _ := open(t, head+"\nversion: 1\nrules: [{id: a, limit: \"gcra:1/1s\"}]\n")
		rule, err := r.Get(ctx, "a")
		if err != nil || rule.Name != "" {
			t.Errorf("%q: %+v, %v", head, rule, err)
		}
		if _, err := r.Create(ctx, "b", "", json.RawMessage(`{"id":"b","limit":"gcra:1/1s"}`)); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
}

func TestOpenTakesWhatIsThere(t *testing.T) {
	_, doc, _ := open(t, example)
	r, err := Open(ctx, doc, nil)
	if err != nil || len(ids(t, r)) != 4 {
		t.Errorf("%v", err)
	}
	if _, err := Open(ctx, doc, &Options{Initial: []byte("version: 2")}); err == nil {
		t.Error("an initial text that is no policy is accepted")
	}
	empty, err := new(document.Memory).Document("p")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Open(ctx, empty, nil); err != nil || len(ids(t, r)) != 0 {
		t.Errorf("without an initial text: %v", err)
	}
	if n := len(Of(&policy.Policy{Rules: []policy.Rule{{ID: "a"}}})); n != 1 {
		t.Errorf("%d rules of a policy", n)
	}
}
