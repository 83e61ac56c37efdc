package scenario

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/policy"
)

// Request is what a policy sees of the requests of a traffic. In all texts {key} stands
// for the key of the request, {key%N} for a number from 0 to N − 1 that is always the same
// for one key, N from 1 to 1000000, and {cost} for its cost.
type Request struct {
	// Method, Host and Path are those of an HTTP request, as in policy.Request: the path is
	// in its escaped form. Left out, the request is not HTTP.
	Method string `yaml:"method,omitempty" rule:"1..100"`
	Host   string `yaml:"host,omitempty" rule:"1..1000"`
	Path   string `yaml:"path,omitempty" rule:"1..4096"`
	// Attributes are what is known of who asks, by name, up to 100. A policy ignores those
	// that it does not name.
	Attributes map[string]string `yaml:"attributes,omitempty" rule:"1..100"`
}

// keyAsUser is the Request of a traffic without one.
var keyAsUser = &Request{Attributes: map[string]string{"user": "{key}"}}

// For returns the request for a key at a cost. r may be nil, and is valid otherwise.
func (r *Request) For(key string, cost int64) policy.Request {
	if r == nil {
		r = keyAsUser
	}
	made := policy.Request{
		Method: written(r.Method, key, cost), Host: written(r.Host, key, cost), Path: written(r.Path, key, cost),
		Attributes: make(policy.Attributes, len(r.Attributes)),
	}
	for name, text := range r.Attributes {
		made.Attributes[name] = written(text, key, cost)
	}
	return made
}

var (
	placeholder = regexp.MustCompile(`\{[^}]*\}?`)
	ofKey       = regexp.MustCompile(`^\{key%([1-9][0-9]{0,6})\}$`)
)

// mostParts is the largest N of {key%N}.
const mostParts = 1_000_000

// written puts values in place of what stands for them.
func written(text, key string, cost int64) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		switch p {
		case "{key}":
			return key
		case "{cost}":
			return strconv.FormatInt(cost, 10)
		}
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(key)) // it never fails
		return strconv.FormatUint(hash.Sum64()%uint64(partsOf(p)), 10)
	})
}

// partsOf returns the N of {key%N}, and 0 where a text is nothing of the kind.
func partsOf(text string) int {
	found := ofKey.FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || n > mostParts {
		return 0
	}
	return n
}

func (r *Request) cross(path string) error {
	texts := map[string]string{"method": r.Method, "host": r.Host, "path": r.Path}
	for name, text := range r.Attributes {
		texts["attributes."+name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, p := range placeholder.FindAllString(texts[name], -1) {
			if p != "{key}" && p != "{cost}" && partsOf(p) == 0 {
				return refuse(join(path, name), strconv.Quote(p), fmt.Sprintf("{key}, {cost}, or {key%%N} with N from 1 to %d", mostParts))
			}
		}
	}
	return nil
}
