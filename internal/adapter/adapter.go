// Package adapter holds what the adapters for frameworks have in common. It knows none of
// them.
package adapter

import (
	"context"
	"net/http"

	"github.com/weirgo/weir/httplimit"
)

// Call calls the handler of a request, and then ends the request, whatever came of it: end
// is that of httplimit.Middleware.Admit, and may be nil. outcome says what is known of the
// answer, from the error of the handler, which is httplimit.ErrPanicked where it did not
// return.
func Call(end func(*httplimit.Outcome), handler func() error, outcome func(err error) httplimit.Outcome) error {
	if end == nil {
		return handler()
	}
	seen := httplimit.ErrPanicked
	defer func() { // without recover: a panic goes on as it was
		o := outcome(seen)
		o.Err = seen
		end(&o)
	}()
	seen = handler()
	return seen
}

// Request returns a copy of a request with another context, pattern ("" is that of r), and
// path values that it does not share with r.
func Request(r *http.Request, ctx context.Context, pattern string, values func(set func(name, value string))) *http.Request {
	r = r.WithContext(ctx)
	own := false
	values(func(name, value string) {
		if !own { // most routes have no parameter
			r, own = withOwnPathValues(r), true
		}
		r.SetPathValue(name, value)
	})
	if pattern != "" {
		r.Pattern = pattern
	}
	return r
}

// withOwnPathValues returns a copy of a request. Clone alone copies the path values, and
// it is not needed for the large parts.
func withOwnPathValues(r *http.Request) *http.Request {
	bare := *r
	bare.Header, bare.Trailer, bare.TransferEncoding, bare.Form, bare.PostForm, bare.MultipartForm = nil, nil, nil, nil, nil, nil
	own := bare.Clone(r.Context())
	own.Header, own.Trailer, own.TransferEncoding, own.Form, own.PostForm, own.MultipartForm = r.Header, r.Trailer, r.TransferEncoding, r.Form, r.PostForm, r.MultipartForm
	return own
}
