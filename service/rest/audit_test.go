package rest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/service/document"
	"github.com/weirgo/weir/service/rules"
	"github.com/weirgo/weir/store"
)

type auditPage struct {
	Entries []struct {
		Seq                                                 int64
		Actor, Role, Tenant, Remote, Action, Target, Result string
		RequestID, PolicyVersion                            string
		Before, After                                       any
	}
	NextCursor string `json:"next_cursor"`
}

// TestEveryChangeIsInTheAudit: twice, with what was there before and after, and without the
// name of a user.
func TestEveryChangeIsInTheAudit(t *testing.T) {
	s := newServer(t, setup{})
	s.call("write-a", "POST", "/api/v1/rules", `{"id":"n","limit":"gcra:1/1s"}`, "X-Request-Id", "one").is(201)
	s.call("write-a", "PUT", "/api/v1/rules/n", `{"id":"n","limit":"gcra:2/1s"}`, "If-Match", "*").is(200)
	s.call("write-a", "PUT", "/api/v1/rules/n", `{"id":"n","limit":"gcra:2/1s"}`, "If-Match", `"x"`).is(412)
	s.call("write-a", "DELETE", "/api/v1/rules/n", "", "If-Match", "*").is(204)
	s.clock.Add(time.Hour)
	s.call("write-a", "PUT", "/api/v1/users/alice/tier", `{"tier":"paid"}`).is(200)
	made := s.call("write-a", "POST", "/api/v1/users/alice/override", `{"rule_id":"api","limit":0,"expires_at":"2026-12-01T00:00:00Z","reason":"r"}`).is(201)
	s.call("write-a", "DELETE", "/api/v1/users/alice/override/"+made.field("id").(string), "").is(204)
	s.call("write-b", "PUT", "/api/v1/users/bob/tier", `{"tier":"paid"}`).is(200)

	var page auditPage
	a := s.call("read-a", "GET", "/api/v1/audit", "").is(200).read(&page)
	if strings.Contains(string(a.body), "alice") {
		t.Errorf("the name of a user: %s", a.body)
	}
	var got []string
	for i, e := range page.Entries {
		got = append(got, fmt.Sprintf("%s %t→%t %s", e.Action, e.Before != nil, e.After != nil, e.Result))
		if e.Actor != "write-a" || e.Role != "write" || e.Tenant != "a" || e.Remote == "" || i%2 == 1 && e.Seq != page.Entries[i-1].Seq+1 {
			t.Errorf("%+v", e)
		}
	}
	want := []string{
		"rule.create false→false begun", "rule.create false→true done", "rule.replace false→false begun", "rule.replace true→true done",
		"rule.replace false→false begun", "rule.replace false→false failed: changed", "rule.delete false→false begun", "rule.delete true→false done",
		"user.tier false→false begun", "user.tier true→true done", "user.override.create false→false begun", "user.override.create true→true done",
		"user.override.delete false→false begun", "user.override.delete true→true done",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for query, entries := range map[string]int{"user=alice": 6, "user=bob": 0, "since=2026-11-29T13:00:00Z": 6, "since=2026-11-29T13:00:01Z": 0, "user=alice&limit=200": 6} {
		var p auditPage
		if s.call("read-a", "GET", "/api/v1/audit?"+query, "").is(200).read(&p); len(p.Entries) != entries {
			t.Errorf("%s: %d entries, want %d", query, len(p.Entries), entries)
		}
	}
	total, next := 0, ""
	for {
		var p auditPage
		s.call("read-a", "GET", "/api/v1/audit?limit=3&cursor="+next, "").is(200).read(&p)
		total += len(p.Entries)
		if next = p.NextCursor; next == "" {
			break
		}
	}
	if total != len(want) {
		t.Errorf("%d entries in pages, want %d", total, len(want))
	}
	for query, status := range map[string]int{"user=": 422, "since=now": 422, "cursor=x": 422, "limit=0": 422, "actor=x": 400} {
		s.call("read-a", "GET", "/api/v1/audit?"+query, "").is(status)
	}
}

// TestWithoutAnAuditNothingIsChanged: a file that cannot be written refuses every change.
func TestWithoutAnAuditNothingIsChanged(t *testing.T) {
	s := newServer(t, setup{})
	made := s.call("write-a", "POST", "/api/v1/users/me/override", `{"rule_id":"api","limit":"gcra:9/1h","expires_at":"2026-12-01T00:00:00Z","reason":"r"}`).is(201)
	before := s.call("read-a", "GET", "/api/v1/rules", "")
	s.audit.Close()
	for _, a := range []*answer{
		s.call("write-a", "POST", "/api/v1/rules", `{"id":"n","limit":"gcra:1/1s"}`),
		s.call("write-a", "PUT", "/api/v1/rules/api", `{"id":"api","limit":"gcra:2/1s"}`, "If-Match", "*"),
		s.call("write-a", "DELETE", "/api/v1/rules/api", "", "If-Match", "*"),
		s.call("write-a", "PUT", "/api/v1/users/me/tier", `{"tier":"paid"}`),
		s.call("write-a", "POST", "/api/v1/users/me/override", `{"rule_id":"api","limit":0,"expires_at":"2026-12-01T00:00:00Z","reason":"r"}`),
		s.call("write-a", "DELETE", "/api/v1/users/me/override/"+made.field("id").(string), ""),
	} {
		a.is(503).has("unavailable")
	}
	if after := s.call("read-a", "GET", "/api/v1/rules", ""); string(after.body) != string(before.body) {
		t.Errorf("the rules have changed: %s", after.body)
	}
	if a := s.call("check-a", "POST", "/api/v1/check", me).is(200); a.field("limit") != 9.0 {
		t.Errorf("the user has changed: %s", a.body)
	}
}

// deaf is a document whose server makes every change and answers none.
type deaf struct{ document.Document }

func (d deaf) Update(ctx context.Context, change func([]byte) ([]byte, error)) (int64, error) {
	if _, err := d.Document.Update(ctx, change); err != nil {
		return 0, err
	}
	return 0, store.ErrOutcomeUnknown
}

// TestAChangeOfWhichNobodyKnowsIsNoFailure: the caller and the audit are told that it may
// have been made.
func TestAChangeOfWhichNobodyKnowsIsNoFailure(t *testing.T) {
	s := newServer(t, setup{})
	doc, err := new(document.Memory).Document("policy")
	s.must(err)
	s.tenants["a"].Rules, err = rules.Open(t.Context(), deaf{doc}, nil)
	s.must(err)
	a := s.call("write-a", "POST", "/api/v1/rules", `{"id":"n","limit":"gcra:1/1s"}`).is(503).has("unavailable")
	if !strings.Contains(string(a.body), "may have been made") || a.header.Get("Retry-After") == "" {
		t.Errorf("%s", a.body)
	}
	var page auditPage
	s.call("read-a", "GET", "/api/v1/audit", "").is(200).read(&page)
	if n := len(page.Entries); n != 2 || !strings.HasSuffix(page.Entries[1].Result, "may have been made") {
		t.Errorf("%+v", page.Entries)
	}
	s.call("read-a", "GET", "/api/v1/rules/n", "").is(200) // it was
}

func TestAServiceWithoutAnAuditChanges(t *testing.T) {
	s := newServer(t, setup{noAudit: true})
	s.call("write-a", "PUT", "/api/v1/users/me/tier", `{"tier":"paid"}`).is(200)
	if a := s.call("read-a", "GET", "/api/v1/audit?user=me", "").is(200); len(a.field("entries").([]any)) != 0 {
		t.Errorf("%s", a.body)
	}
}
