package rest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/service/problem"
)

// readAudit shows what was changed for the tenant of the caller.
func (c *call) readAudit() error {
	values, err := c.query(nil, "user", "since", "cursor", "limit")
	if err != nil {
		return err
	}
	q := audit.Query{Tenant: c.caller.Tenant}
	if q.Limit, err = limit(values); err != nil {
		return err
	}
	if text := values.Get("cursor"); text != "" {
		if q.After, err = strconv.ParseInt(text, 10, 64); err != nil || q.After < 1 {
			return invalid([]problem.Field{{Pointer: "cursor", Detail: "must be next_cursor of the page before"}})
		}
	}
	if text := values.Get("since"); text != "" {
		if q.Since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return invalid([]problem.Field{{Pointer: "since", Detail: "must be a time such as 2027-01-31T00:00:00Z"}})
		}
	}
	user := values.Get("user")
	if values.Has("user") && (user == "" || len(user) > engine.MaxKey) {
		return invalid([]problem.Field{{Pointer: "user", Detail: "must be 1 to " + strconv.Itoa(engine.MaxKey) + " bytes long"}})
	}
	page := audit.Page{Entries: []audit.Entry{}}
	if c.handler.audit != nil {
		if user != "" {
			q.Target = c.userTarget(user)
		}
		if page, err = c.handler.audit.Read(q); err != nil {
			return err
		}
	}
	result := struct {
		Entries    []audit.Entry `json:"entries"`
		NextCursor string        `json:"next_cursor,omitempty"`
	}{Entries: page.Entries}
	if page.Next > 0 {
		result.NextCursor = strconv.FormatInt(page.Next, 10)
	}
	return c.write(http.StatusOK, result)
}
