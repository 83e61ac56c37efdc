package main

import (
	"embed"
	"html/template"
	"net/http"
)

//go:embed web
var web embed.FS

var index = template.Must(template.ParseFS(web, "web/index.html"))

// newPage returns the page, which calls the API at apiOrigin and nothing else.
func newPage(apiOrigin string) http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = index.Execute(w, apiOrigin) // the client may be gone
	})
	for _, name := range []string{"page.js", "page.css"} {
		routes.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, web, "web/"+name)
		})
	}
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src " + apiOrigin +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		routes.ServeHTTP(w, r)
	})
}
