package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// identity is whom an API key belongs to.
type identity struct{ user, org, tier string }

// identities are what a real service keeps in a database.
var identities = map[string]identity{
	"free-key":       {"ann", "home", "free"},
	"premium-key":    {"bob", "globex", "premium"},
	"enterprise-key": {"eve", "acme", "enterprise"},
}

type identityKey struct{}

// authenticate refuses requests without a known API key, and puts the identity into the
// context of the others.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, known := identities[r.Header.Get("X-Api-Key")]
		if !known {
			http.Error(w, "unknown API key", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, who)))
	})
}

// attribute returns a Key that finds a part of the identity.
func attribute(of func(identity) string) httplimit.Key {
	return func(r *http.Request) (string, bool) {
		who, known := r.Context().Value(identityKey{}).(identity)
		return of(who), known
	}
}

// allowOrigin is CORS: pages of origin may call next with an API key, and may read the
// headers of the answers. Preflight requests end here, so no limit counts them.
func allowOrigin(origin string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if r.Header.Get("Origin") == origin {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", httplimit.ExposedHeaders)
		}
		if !httplimit.IsPreflight(r) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Headers", "X-Api-Key")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

// newAPI returns the API: CORS, then authentication, then limits, then the routes.
func newAPI(states store.Store, limits []byte, pageOrigin string) (http.Handler, error) {
	file, err := policy.Parse(limits, nil)
	if err != nil {
		return nil, err
	}
	limiter, err := weir.NewMultiLimiter(states, nil)
	if err != nil {
		return nil, err
	}
	enforcer, err := policy.NewEnforcer(limiter, file.Compiled, nil)
	if err != nil {
		return nil, err
	}
	limited, err := httplimit.NewPolicy(enforcer, nil, map[string]httplimit.Key{
		"user": attribute(func(who identity) string { return who.user }),
		"org":  attribute(func(who identity) string { return who.org }),
		"tier": attribute(func(who identity) string { return who.tier }),
	}, nil)
	if err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /api/orders", answer(map[string]any{"orders": []int{1, 2, 3}}))
	routes.HandleFunc("GET /api/search", answer(map[string]any{"found": []string{"a book"}}))
	return allowOrigin(pageOrigin, authenticate(limited.Handler(routes))), nil
}

func answer(value any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value) // the client may be gone
	}
}
