package api

import _ "embed"

//go:embed openapi.json
var openAPI string

// OpenAPI returns the description of the HTTP interface of the service: an OpenAPI 3.1
// document as JSON, of about 50 KB, which the service has at /api/v1/openapi.json. It is
// a new slice at each call.
func OpenAPI() []byte { return []byte(openAPI) }
