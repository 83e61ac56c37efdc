package rest

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/service/problem"
)

// query reads the parameters of a request: each known, and given once but for those that
// are lists.
func (c *call) query(lists []string, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, problem.New(problem.Malformed, "the query is not valid")
	}
	for name, all := range values {
		list := slices.Contains(lists, name)
		switch {
		case !list && !slices.Contains(known, name):
			return nil, problem.New(problem.Malformed, "a parameter is not known", problem.Field{Pointer: shown(name), Detail: "must be one of " + strings.Join(append(known, lists...), ", ")})
		case !list && len(all) > 1:
			return nil, problem.New(problem.Malformed, "a parameter is given twice", problem.Field{Pointer: name, Detail: "must be given once"})
		case slices.ContainsFunc(all, func(v string) bool { return !utf8.ValidString(v) }):
			return nil, problem.New(problem.Malformed, "a parameter is not UTF-8", problem.Field{Pointer: name, Detail: "must be UTF-8"})
		}
	}
	return values, nil
}

// shown is a name that a caller has made up, in a form that can be answered.
func shown(name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return strings.ToValidUTF8(name, "�")
}

// Pages.
const (
	defaultLimit = 100
	maxLimit     = 200
)

// limit reads the parameter limit.
func limit(values url.Values) (int, error) {
	if !values.Has("limit") {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(values.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, invalid([]problem.Field{{Pointer: "limit", Detail: "must be 1 to " + strconv.Itoa(maxLimit)}})
	}
	return n, nil
}

// user reads the path parameter id.
func (c *call) user() (string, error) {
	id := c.params["id"]
	if len(id) < 1 || len(id) > engine.MaxKey || !utf8.ValidString(id) {
		return "", invalid([]problem.Field{{Pointer: "id", Detail: "must be 1 to " + strconv.Itoa(engine.MaxKey) + " bytes of UTF-8"}})
	}
	return id, nil
}
