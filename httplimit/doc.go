// Package httplimit limits HTTP requests: middleware for servers, and a Transport for
// clients.
//
// One limit needs a key, which says whom a request is counted for:
//
//	limiter := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("api", "gcra:100/1m")), nil))
//	limited := weir.Must(httplimit.New(limiter, httplimit.RemoteAddress, nil))
//	http.ListenAndServe(":8080", limited.Handler(mux))
//
// [NewMulti] asks several limits, all or nothing, and [NewPolicy] asks a policy.
// [Middleware.Handler] has the signature of middleware for net/http and chi; adapters
// for other frameworks are modules of their own below adapter. A [Transport] is for
// clients.
//
// Answers carry RateLimit-Policy and RateLimit of
// draft-ietf-httpapi-ratelimit-headers-10; see [Headers]. A denied request gets status
// 429, Retry-After and a problem document (RFC 9457); see [Verdict.Status] for the
// other cases.
//
// A [Key] never falls back to a key that all clients share. Where a request does not
// say whom it is from, [Absent] decides. Behind a proxy, [NewClientAddress] finds the
// client; no header is trusted without it.
package httplimit
