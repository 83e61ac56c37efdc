package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/weirgo/weir/api"
	"go.yaml.in/yaml/v4"
)

// TestOpenAPIIsTheYAML writes openapi.json, which is embedded, from openapi.yaml, which
// people write.
func TestOpenAPIIsTheYAML(t *testing.T) {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Load(text, &doc); err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return // what is embedded is from before
	}
	if !bytes.Equal(api.OpenAPI(), want) {
		t.Error("openapi.json is not openapi.yaml: go test . -run TestOpenAPIIsTheYAML -update")
	}
}

func document(t *testing.T) (*openapi3.T, routers.Router) {
	t.Helper()
	text, err := os.ReadFile("openapi.json") // what is embedded, and with -update newer
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, router
}

// TestOpenAPIIsValid holds the document against OpenAPI 3.1, and its examples against
// its schemas.
func TestOpenAPIIsValid(t *testing.T) {
	doc, _ := document(t)
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("the document is of OpenAPI %s, want 3.1", doc.OpenAPI)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
}

// TestEveryRouteSaysWhatItAnswers asks of each route what all have in common.
func TestEveryRouteSaysWhatItAnswers(t *testing.T) {
	doc, _ := document(t)
	routes, ids := 0, map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			routes++
			name := method + " " + path
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s: the operationId %q is missing or taken", name, op.OperationID)
			}
			ids[op.OperationID] = true
			if op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s: want a summary and one tag", name)
			}
			health := !strings.HasPrefix(path, "/api/")
			if health != (op.Security != nil) {
				t.Errorf("%s: all routes but health need credentials", name)
			}
			var want []string
			if !health {
				want = append(want, "401", "429", "default")
			}
			if op.RequestBody != nil {
				want = append(want, "400", "413", "415")
			}
			if method == http.MethodPut && strings.Contains(path, "/rules/") || method == http.MethodDelete && strings.Contains(path, "/rules/") {
				want = append(want, "412", "428")
			}
			for _, status := range want {
				if op.Responses.Value(status) == nil {
					t.Errorf("%s: no answer %s", name, status)
				}
			}
			for status, r := range op.Responses.Map() {
				n, err := strconv.Atoi(status)
				if health || err == nil && n < 400 {
					continue
				}
				if r.Value.Content.Get("application/problem+json") == nil {
					t.Errorf("%s: the answer %s is no problem", name, status)
				}
			}
		}
	}
	if routes != 17 {
		t.Errorf("%d routes, want 17", routes)
	}
}

const answer = `{"allowed": true, "current_count": 1, "limit": 10, "remaining": 9, "reset_at": 1764288006, "retry_after": 0,
	"reset_after_exact": "6s", "rule_id": "api", "standing": "normal", "degraded": false, "policy_version": "0123456789ab",
	"decisions": [{"allowed": true, "current_count": 1, "limit": 10, "remaining": 9, "reset_at": 1764288006, "retry_after": 0, "rule_id": "api"}]`

// TestOpenAPITellsRightFromWrong holds requests and answers against the document: what
// it lets pass, and what it refuses.
func TestOpenAPITellsRightFromWrong(t *testing.T) {
	_, router := document(t)
	const (
		check = `{"identifier": "me", "dimension": "USER", "endpoint": "/"}`
		rule  = `{"id": "api", "key": ["user"], "limit": "gcra:30/1m"}`
	)
	for _, test := range []struct {
		name, method, target, body string
		header                     http.Header
		status                     int
		answer                     string
		wrong                      string // "", "request" or "answer"
	}{
		{name: "check", method: "POST", target: "/api/v1/check", body: check, status: 200, answer: answer + `, "replayed": false}`},
		{name: "check/denied", method: "POST", target: "/api/v1/check", body: check, status: 429, answer: answer + `, "replayed": false}`},
		{name: "check/no-field-replayed", method: "POST", target: "/api/v1/check", body: check, status: 200, answer: answer + `}`, wrong: "answer"},
		{name: "check/standing", method: "POST", target: "/api/v1/check", body: check, status: 200, answer: strings.Replace(answer, `"normal"`, `"NORMAL"`, 1) + `, "replayed": false}`, wrong: "answer"},
		{name: "check/status-not-named", method: "POST", target: "/api/v1/check", body: check, status: 202, answer: answer + `, "replayed": false}`, wrong: "answer"},
		{name: "check/unknown-field", method: "POST", target: "/api/v1/check", body: `{"identifier": "me", "dimension": "USER", "endpoint": "/", "costs": 1}`, wrong: "request"},
		{name: "check/dimension", method: "POST", target: "/api/v1/check", body: `{"identifier": "me", "dimension": "user", "endpoint": "/"}`, wrong: "request"},
		{name: "check/cost-below-0", method: "POST", target: "/api/v1/check", body: `{"identifier": "me", "dimension": "USER", "endpoint": "/", "cost": -1}`, wrong: "request"},
		{name: "check/idempotency-key", method: "POST", target: "/api/v1/check", body: check, header: http.Header{"Idempotency-Key": {"with a space"}}, wrong: "request"},
		{name: "quota", method: "GET", target: "/api/v1/quota?identifier=me&dimension=USER&endpoint=%2F&attribute=org%3Dacme&attribute=tier%3Dgold", status: 200, answer: answer + `}`},
		{name: "quota/no-dimension", method: "GET", target: "/api/v1/quota?identifier=me&endpoint=%2F", wrong: "request"},
		{name: "rules", method: "GET", target: "/api/v1/rules?limit=200", status: 200, answer: `{"rules": [` + rule + `], "policy_version": "1"}`},
		{name: "rules/limit", method: "GET", target: "/api/v1/rules?limit=201", wrong: "request"},
		{name: "rules/created", method: "POST", target: "/api/v1/rules", body: rule, status: 201, header: http.Header{"Location": {"/api/v1/rules/api"}, "Etag": {`"1"`}}, answer: rule},
		{name: "rules/created-without-location", method: "POST", target: "/api/v1/rules", body: rule, status: 201, header: http.Header{"Etag": {`"1"`}}, answer: rule, wrong: "answer"},
		{name: "rules/two-kinds-of-limit", method: "POST", target: "/api/v1/rules", body: `{"id": "api", "limit": "gcra:1/1s", "limits": {"a": "gcra:1/1s"}}`, wrong: "request"},
		{name: "rules/limit-of-tier", method: "POST", target: "/api/v1/rules", body: `{"id": "api", "limit": {"tier": "api"}}`, status: 409, answer: problem},
		{name: "rules/delete", method: "DELETE", target: "/api/v1/rules/api", status: 204},
		{name: "rules/changed", method: "DELETE", target: "/api/v1/rules/api", status: 412, answer: problem},
		{name: "rules/problem-without-type", method: "DELETE", target: "/api/v1/rules/api", status: 412, answer: `{"title": "t", "status": 412, "detail": "d"}`, wrong: "answer"},
		{name: "validate", method: "POST", target: "/api/v1/policy:validate", body: `{"version": 1}`, status: 200, answer: `{"valid": false, "errors": [{"path": "rules[0]", "detail": "d", "line": 3, "column": 1}], "findings": []}`},
		{name: "explain", method: "POST", target: "/api/v1/policy:explain", body: check, status: 200, answer: `{"policy_version": "1", "list": "none", "text": "t", "rules": [{"rule_id": "api", "applies": "applies", "limits": [{"name": "api", "action": "ask", "spec": "gcra:1/1s", "source": "rule", "cost": 1, "enforced": true}]}]}`},
		{name: "limits", method: "GET", target: "/api/v1/users/42/limits", status: 200, answer: `{"tier": "free", "limits": [{"rule_id": "api", "algorithm": "gcra", "limit": 10, "window_seconds": 60, "source": "tier", "remaining": 9, "reset_at": 1}]}`},
		{name: "tier", method: "PUT", target: "/api/v1/users/42/tier", body: `{"tier": "gold", "custom_limits": {"api": "gcra:1/1s"}}`, status: 200, answer: `{"tier": "gold"}`},
		{name: "override", method: "POST", target: "/api/v1/users/42/override", body: `{"rule_id": "api", "limit": "gcra:1/1s", "expires_at": "2026-12-31T00:00:00Z", "reason": "r"}`, status: 201, header: http.Header{"Location": {"/x"}}, answer: `{"id": "1", "rule_id": "api", "limit": "gcra:1/1s", "expires_at": "2026-12-31T00:00:00Z", "reason": "r", "created_at": "2026-11-29T00:00:00Z"}`},
		{name: "override/forever", method: "POST", target: "/api/v1/users/42/override", body: `{"rule_id": "api", "limit": "gcra:1/1s", "reason": "r"}`, wrong: "request"},
		{name: "override/delete", method: "DELETE", target: "/api/v1/users/42/override/1", status: 204},
		{name: "audit", method: "GET", target: "/api/v1/audit?user=42&since=2026-11-29T00:00:00Z", status: 200, answer: `{"entries": [{"time": "2026-11-29T00:00:00Z", "seq": 1, "actor": "a", "role": "write", "tenant": "t", "remote": "::1", "action": "rule.delete", "target": "api", "before": {"id": "api"}, "policy_version": "1", "request_id": "r", "result": "ok"}]}`},
		{name: "document", method: "GET", target: "/api/v1/openapi.json", status: 200, answer: `{}`},
		{name: "alive", method: "GET", target: "/healthz", status: 200, answer: "ok"},
		{name: "not-ready", method: "GET", target: "/readyz", status: 503, answer: "no policy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, test.target, strings.NewReader(test.body))
			for name := range test.header {
				r.Header.Set(name, test.header.Get(name))
			}
			if test.body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			route, params, err := router.FindRoute(r)
			if err != nil {
				t.Fatal(err)
			}
			input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
				Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true}}
			err = openapi3filter.ValidateRequest(t.Context(), input)
			if (err != nil) != (test.wrong == "request") {
				t.Errorf("request: %v", err)
			}
			if test.wrong == "request" {
				return
			}
			h := http.Header{"Content-Type": {contentType(test.target, test.status, test.answer)}}
			for name := range test.header {
				h.Set(name, test.header.Get(name))
			}
			output := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: test.status, Header: h, Options: input.Options}
			output.SetBodyBytes([]byte(test.answer))
			err = openapi3filter.ValidateResponse(t.Context(), output)
			if (err != nil) != (test.wrong == "answer") {
				t.Errorf("answer: %v", err)
			}
		})
	}
}

const problem = `{"type": "https://example.com/#conflict", "title": "t", "status": 409, "detail": "d", "errors": [{"pointer": "/id", "detail": "d"}]}`

func contentType(target string, status int, answer string) string {
	switch {
	case !strings.HasPrefix(target, "/api/"):
		return "text/plain"
	case status >= 400 && target != "/api/v1/check":
		return "application/problem+json"
	}
	return "application/json"
}
