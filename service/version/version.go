// Package version marks what is deprecated in the interfaces of the service: the same over
// HTTP, as headers, and over gRPC, as metadata of the same names in lower case.
package version

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
)

// Deprecation says that a route or a method is going to end.
type Deprecation struct {
	// Since is when it was deprecated (RFC 9745), and Sunset when it ends (RFC 8594): at
	// least 6 months later.
	Since, Sunset time.Time
	// Successor is the route or the page that takes its place.
	Successor string
}

// minMonths is how long at least what is deprecated goes on.
const minMonths = 6

// Check refuses a Deprecation that gives its users too little time, or no successor.
func (d Deprecation) Check() error {
	if d.Since.IsZero() || d.Sunset.Before(d.Since.AddDate(0, minMonths, 0)) {
		return fmt.Errorf("version: Sunset %s is not allowed: must be at least %d months after Since, %s", d.Sunset.UTC().Format(time.DateOnly), minMonths, d.Since.UTC().Format(time.DateOnly))
	}
	if d.Successor == "" || strings.ContainsAny(d.Successor, "<>\"\r\n") {
		return fmt.Errorf("version: Successor %q is not allowed: must be an address", d.Successor)
	}
	return nil
}

// Header writes Deprecation, Sunset and Link into h.
func (d Deprecation) Header(h http.Header) {
	for _, f := range d.fields() {
		h.Add(f[0], f[1])
	}
}

// Metadata returns the same for gRPC.
func (d Deprecation) Metadata() metadata.MD {
	md := metadata.MD{}
	for _, f := range d.fields() {
		md.Append(strings.ToLower(f[0]), f[1])
	}
	return md
}

func (d Deprecation) fields() [3][2]string {
	return [3][2]string{
		{"Deprecation", "@" + strconv.FormatInt(d.Since.Unix(), 10)},
		{"Sunset", d.Sunset.UTC().Format(http.TimeFormat)},
		{"Link", "<" + d.Successor + `>; rel="successor-version"`},
	}
}
