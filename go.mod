module github.com/weirgo/weir

go 1.26.0

require (
	github.com/benbjohnson/clock v1.3.5
	github.com/google/go-cmp v0.7.0
	pgregory.net/rapid v1.3.0
)

require go.uber.org/goleak v1.3.0

require github.com/stretchr/testify v1.9.0 // indirect
