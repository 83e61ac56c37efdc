// Package architecture holds the tests that guard the shape of the project:
// who may import whom, and which modules it depends on.
package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const root = "github.com/weirgo/weir"

// modules are the folders with a go.mod of their own. Tools are no part of what
// we ship; their go.mod is their list. bench/envoyproxy is no part of go.work, see its doc.go.
var modules = []string{".", "api", "cmd/weir", "bench", "bench/ratelimit", "adapter/connect", "adapter/echo", "adapter/echo5", "adapter/fiber", "adapter/gin", "adapter/grpc", "observe/otel", "observe/prometheus", "service"}

// rule says which packages of the project a layer may import, and why no others.
type rule struct {
	layer   string   // a package below root, or a folder with all below it
	project []string // what it may import of the project
	others  []string // what it may import from elsewhere, besides the standard library
	because string
}

// rules are tried in order; the first whose layer matches counts. Change a rule
// and its reason together.
var rules = []rule{
	{"algorithm", []string{"internal/exact"}, nil, "a limit is a pure function: it stands on arithmetic alone"},
	{"store/memory", []string{"algorithm", "store"}, nil, "a user of the memory store must not get a network client with it"},
	{"store/script", []string{"algorithm", "store", "store/script", "internal/batch", "internal/deadline", "internal/document/size", "internal/exact", "internal/nilcheck"}, nil, "a store on a server takes any client library: it knows none"},
	{"store/redis", []string{"store", "store/script", "internal/nilcheck"}, []string{"github.com/redis/go-redis"},
		"go-redis stays where its users asked for it"},
	{"store/valkey", []string{"store", "store/script", "internal/deadline", "internal/nilcheck"}, []string{"github.com/valkey-io/valkey-go"},
		"valkey-go stays where its users asked for it"},
	{"store", []string{"algorithm", "internal/nilcheck"}, nil, "the contract knows no implementation"},
	{"conformance", []string{"algorithm", "store", "conformance"},
		// porcupine looks for an order of concurrent calls: a search that is easy to
		// get wrong, and brings nothing along.
		[]string{"pgregory.net/rapid", "github.com/benbjohnson/clock", "github.com/anishathalye/porcupine"},
		"the suite must judge a store that it has never seen"},
	{"internal/oracle", nil, nil, "an oracle that shares code with what it checks shares its bugs"},
	{"internal/exact", nil, nil, "arithmetic stands on nothing, and every layer may use it"},
	{"internal/rethrow", nil, nil, "goroutines know nothing of what they do"},
	{"internal/divide", []string{"algorithm"}, nil, "a store and a policy divide a limit the same way"},
	{"internal/batch", nil, nil, "what shares a call is decided the same on every store and in the simulator"},
	{"internal/deadline", []string{"store"}, nil, "the end of a time-out means the same on every layer"},
	{"internal/document", []string{"internal/document"}, []string{"github.com/goccy/go-yaml"}, "one strict and bounded reader of YAML for everything that people write"},
	{"internal/waits", []string{"internal/exact"}, nil, "a simulation and a replay count waits the same way"},
	{"internal/nilcheck", nil, nil, "one look at a value, for every constructor"},
	{"internal/loglist", nil, nil, "the command and the tests read a log on a server the same way"},
	{"internal/observed", []string{"", "policy", "store"}, nil, "results and errors have the same names in every system of metrics"},
	{"internal/adapter", []string{"", "httplimit"}, nil, "what adapters share brings no framework along"},
	{"internal/keyhash", nil, nil, "a page and a log show one hash of a key"},
	{"internal/topk", nil, nil, "a sketch counts keys, whatever they are of"},
	{"internal/uplot", nil, nil, "the page of a report and the page of a service embed one copy of what draws their charts"},
	{"internal/race", nil, nil, "one constant, for every test that is bounded"},
	{"internal/servertest", nil, nil, "the tests of a client must not stand on a client, and every layer may test against a server"},
	{"internal/clienttest", []string{"algorithm", "store", "store/script", "internal/race", "internal/servertest"}, nil,
		"what every client must do is asked of the interface, without a library"},
	{"internal/inflighttest", []string{"algorithm", "store", "resilience/inflight"}, []string{"pgregory.net/rapid", "github.com/anishathalye/porcupine"},
		"what every store of holders must do is asked of the interface"},
	{"internal/attack", []string{"", "algorithm", "store", "store/redis", "store/valkey", "internal/servertest", "internal/attack"},
		[]string{"github.com/redis/go-redis", "github.com/valkey-io/valkey-go"}, "an attack is run as a user would be hit: on real servers, through real clients"},
	{"internal/storeurl", []string{"store/redis", "store/valkey"}, []string{"github.com/redis/go-redis", "github.com/valkey-io/valkey-go"},
		"the command and the service connect alike, and nobody else gets a client library with it"},
	{"internal", []string{"algorithm", "store", "store/script/kind", "conformance", "internal"}, nil, "what is internal serves the tests and go generate"},
	{"examples", []string{"", "algorithm", "httplimit", "policy", "store", "store/memory", "store/script", "sim", "sim/scenario"}, nil, "examples show what a user would import"},
	{"sim", []string{"", "algorithm", "resilience", "store", "store/memory", "sim", "policy", "internal/batch", "internal/deadline", "internal/document", "internal/exact", "internal/oracle", "internal/waits"},
		// A scenario is written as text, too.
		[]string{"github.com/goccy/go-yaml"},
		"the simulated world runs the code that users run, and meets no network"},
	{"resilience/inflight/server", []string{"algorithm", "store", "store/script", "resilience/inflight"}, nil, "holders lie on a server through a store of it, which knows the client library"},
	{"resilience/inflight", []string{"", "algorithm", "store", "internal/deadline", "internal/exact", "internal/nilcheck"}, nil, "a user of the memory store must not get a network client with it"},
	{"resilience", []string{"algorithm", "store", "internal/deadline", "internal/divide", "internal/exact", "internal/nilcheck", "resilience"}, nil, "a decorator works around any store, so it knows none"},
	{"cmd/weir", []string{"", "algorithm", "store", "store/memory", "store/redis", "store/script", "conformance", "policy", "sim", "sim/result", "sim/scenario", "cmd/weir", "internal/document", "internal/loglist", "internal/observed", "internal/storeurl", "internal/uplot", "internal/waits", "service", "service/config", "api/client", "api/weirv1"},
		[]string{"golang.org/x/term",
			// Percentiles of latencies to three digits in bounded memory; timers that end in time.
			"github.com/HdrHistogram/hdrhistogram-go", "golang.org/x/sys/unix",
			// How many columns of a terminal a character takes.
			"golang.org/x/text/width",
			// What the client of the service takes and returns.
			"google.golang.org/grpc",
			// The clock that a check hands to the store that it opens.
			"github.com/benbjohnson/clock",
			// The pictures of a simulation in a file of dots.
			"golang.org/x/image", "github.com/prometheus/client_model/go", "github.com/prometheus/common"}, "the command's libraries stay out of the library's module"},
	// What changes a file is noticed through the operating system, differently on each.
	{"policy/watch", []string{"policy", "internal/document/size"}, []string{"github.com/fsnotify/fsnotify"}, "a watcher hands policies over: what decides by them is not its business"},
	{"policy", []string{"", "algorithm", "store", "internal/divide", "internal/document", "internal/document/words", "internal/rethrow"}, nil, "a policy asks through the seam: it knows no store that stands behind it"},
	{"httplimit", []string{"", "algorithm", "policy", "resilience/inflight", "internal/deadline"}, nil, "middleware needs the answer and the numbers of a limit, and knows no store"},
	{"adapter/connect", []string{"httplimit", "internal/adapter"}, []string{"connectrpc.com/connect", "google.golang.org/genproto/googleapis/rpc/errdetails", "google.golang.org/protobuf"},
		"a framework stays where its users asked for it"},
	{"adapter/echo", []string{"httplimit", "internal/adapter"}, []string{"github.com/labstack/echo/v4"}, "a framework stays where its users asked for it"},
	{"adapter/echo5", []string{"httplimit", "internal/adapter"}, []string{"github.com/labstack/echo/v5"}, "a framework stays where its users asked for it"},
	{"adapter/fiber", []string{"httplimit", "internal/adapter"}, []string{"github.com/gofiber/fiber/v3"}, "a framework stays where its users asked for it"},
	{"adapter/gin", []string{"httplimit", "internal/adapter"}, []string{"github.com/gin-gonic/gin"}, "a framework stays where its users asked for it"},
	{"adapter/grpc", []string{"", "httplimit", "internal/adapter", "resilience/inflight"}, []string{"google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc/errdetails", "google.golang.org/protobuf"},
		"gRPC stays where its users asked for it"},
	{"api/client", []string{"", "api/weirv1", "store"}, []string{"google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc/errdetails", "google.golang.org/protobuf"},
		"a client answers by itself where the service cannot be asked, and knows no store"},
	{"api", []string{"api"}, []string{"google.golang.org/grpc", "google.golang.org/protobuf"}, "whoever calls the service gets its messages, and nothing of the service"},
	{"service/config", []string{"", "algorithm", "internal/document", "internal/document/words", "internal/storeurl"}, nil, "a configuration is checked before anything is opened"},
	{"service/engine", []string{"", "algorithm", "policy", "store", "store/memory"}, nil, "what a tenant is answered is the same on every protocol: it knows none"},
	{"service/rpc", []string{"", "policy", "api/weirv1", "service/engine"}, []string{"google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc/errdetails", "google.golang.org/protobuf"},
		"gRPC stands on the engine, and knows neither callers nor stores"},
	{"service/envoy", []string{"", "algorithm", "internal/document/words", "store", "policy/watch", "service/envoy"},
		// yaml/v2 is the library that reads these files at Envoy's own service.
		[]string{"github.com/envoyproxy/go-control-plane/envoy", "go.yaml.in/yaml/v2", "google.golang.org/grpc", "google.golang.org/protobuf"},
		"the protocol of Envoy stands on any store, without the rest of the service"},
	{"service/gubernator", []string{"", "algorithm", "store", "internal/rethrow", "service/gubernator"}, []string{"google.golang.org/grpc", "google.golang.org/protobuf"},
		"the protocol of gubernator stands on any store, without the rest of the service"},
	{"service/auth", []string{"", "store", "store/memory", "service/problem"}, []string{"github.com/goccy/go-yaml", "google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc/errdetails", "google.golang.org/protobuf"},
		"who may call is decided in front of every protocol, and knows nothing of what is asked"},
	{"service/audit", []string{"store"}, nil, "the log of changes knows nothing of what is changed"},
	{"service/document", []string{"store", "store/script"}, nil, "a text that nodes share says nothing of what it is"},
	{"service/rules", []string{"policy", "service/document", "store"}, nil, "rules are kept without a protocol, and decide nothing"},
	{"service/users", []string{"policy", "service/document", "store"}, nil, "what a user has is kept without a protocol, and decides nothing"},
	{"service/rest", []string{"", "algorithm", "api", "httplimit", "policy", "store", "service/audit", "service/auth", "service/engine", "service/problem", "service/rules", "service/users", "service/version"}, nil,
		"HTTP reads and writes what the packages below mean"},
	{"service/version", nil, []string{"google.golang.org/grpc/metadata"}, "what is deprecated is said alike over HTTP and gRPC"},
	{"service/problem", nil, nil, "an error over HTTP looks alike wherever it comes from"},
	{"observe/otel", []string{"", "algorithm", "policy", "store", "store/script", "internal/observed"}, []string{"go.opentelemetry.io/otel"},
		"traces stay where their users asked for them"},
	{"observe/prometheus", []string{"", "algorithm", "internal/observed", "policy", "resilience", "resilience/inflight", "store", "store/memory", "store/script"},
		// The distinct keys of a rule are estimated, and keys are hashed for that.
		[]string{"github.com/prometheus/client_golang", "github.com/axiomhq/hyperloglog", "github.com/cespare/xxhash"},
		"metrics stay where their users asked for them"},
	{"ui", []string{"", "algorithm", "internal/keyhash", "internal/observed", "internal/topk", "internal/uplot", "policy", "resilience", "store", "store/memory", "store/script"}, nil,
		"a page shows what any program with limits has: it stands on the standard library alone"},
	{"service", []string{"", "algorithm", "api/weirv1", "internal/storeurl", "observe/otel", "observe/prometheus", "policy", "policy/watch", "resilience", "service", "store", "store/memory", "store/script", "ui"},
		[]string{"google.golang.org/grpc", "google.golang.org/protobuf/proto", "github.com/envoyproxy/go-control-plane/envoy/service", "github.com/prometheus/client_golang",
			"go.opentelemetry.io/otel", "go.opentelemetry.io/contrib/instrumentation"}, "what joins the parts knows all of them"},
	{"bench/ratelimit", []string{"policy"}, []string{"github.com/envoyproxy/go-control-plane", "github.com/envoyproxy/ratelimit", "github.com/lyft/gostats"},
		"the libraries of a whole service are built for one measurement and nowhere else"},
	{"bench", []string{"", "algorithm", "resilience", "store", "store/memory", "store/redis", "store/valkey", "internal/servertest", "bench"},
		[]string{"golang.org/x/time", "github.com/failsafe-go/failsafe-go", "github.com/go-chi/httprate", "github.com/go-redis/redis_rate", "github.com/redis/go-redis",
			"github.com/sethvargo/go-limiter", "github.com/throttled/throttled", "github.com/ulule/limiter", "github.com/valkey-io/valkey-go"},
		"other limiters are measured here and nowhere else"},
	{"", []string{"algorithm", "store", "internal/keyhash", "internal/nilcheck", "internal/deadline"}, nil, "the root package works with any store, so it knows none"},
}

// banned are imports that the whole library does without.
var banned = map[string]string{
	"algorithm os":      "a pure function does no I/O",
	"algorithm context": "a pure function does not wait",
	"algorithm sync":    "a pure function holds no lock (sync/atomic, for the log's shared memory, is another package)",
}

func ruleOf(pkg string) *rule {
	for i, r := range rules {
		if pkg == r.layer || r.layer != "" && strings.HasPrefix(pkg, r.layer+"/") {
			return &rules[i]
		}
	}
	return nil
}

func TestImportsFollowTheLayers(t *testing.T) {
	used := map[string]bool{}
	for _, module := range modules {
		for _, p := range list(t, module, "./...") {
			if p.Module == nil {
				t.Fatalf("%s has no module", p.ImportPath)
			}
			pkg := below(p.ImportPath)
			r := ruleOf(pkg)
			if r == nil {
				t.Errorf("%s: no rule names this package: add one, with its reason", p.ImportPath)
				continue
			}
			used[r.layer] = true
			for _, imported := range p.Imports {
				if reason, found := banned[pkg+" "+imported]; found {
					t.Errorf("%s imports %s: %s", pkg, imported, reason)
				}
				if !r.allows(imported) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imported, r.because)
				}
			}
		}
	}
	for _, r := range rules {
		if !used[r.layer] {
			t.Errorf("the rule for %q matches no package: delete it", r.layer)
		}
	}
}

// below cuts the root off an import path: "" for the root package itself.
func below(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, root), "/")
}

func (r *rule) allows(imported string) bool {
	if imported == root || strings.HasPrefix(imported, root+"/") {
		pkg := below(imported)
		return slices.ContainsFunc(r.project, func(allowed string) bool {
			tree := allowed == "internal" || allowed == r.layer
			return pkg == allowed || tree && strings.HasPrefix(pkg, allowed+"/")
		})
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(r.others, func(allowed string) bool {
		return imported == allowed || strings.HasPrefix(imported, allowed+"/")
	})
}

func TestDependenciesAreTheGoldenOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: lists all packages of each module twice")
	}
	var got strings.Builder
	for _, module := range modules {
		fmt.Fprintf(&got, "%s\n", path.Join(root, module))
		build := thirdParty(list(t, module, "-deps", "./..."))
		for _, m := range build {
			fmt.Fprintf(&got, "\t%s\n", m)
		}
		for _, m := range thirdParty(list(t, module, "-deps", "-test", "./...")) {
			if !slices.Contains(build, m) {
				fmt.Fprintf(&got, "\t%s (tests)\n", m)
			}
		}
	}
	const golden = "testdata/dependencies.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("dependencies have changed. Justify it in the commit message and run\n"+
			"\tgo test ./internal/architecture -update\ngot:\n%swant:\n%s", got.String(), want)
	}
}

// thirdParty returns the modules of packages, but for our own.
func thirdParty(packages []listed) []string {
	var all []string
	for _, p := range packages {
		if p.Module != nil && p.Module.Path != root && !strings.HasPrefix(p.Module.Path, root+"/") {
			all = append(all, p.Module.Path+" "+p.Module.Version)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

type listed struct {
	ImportPath string
	Imports    []string
	Module     *struct{ Path, Version string }
}

// list runs go list in a module by itself: what holds only in the workspace
// does not hold for a user.
func list(t *testing.T, module string, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Module"}, args...)...)
	cmd.Dir = filepath.Join("..", "..", filepath.FromSlash(module))
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s in %s: %v\n%s", strings.Join(args, " "), module, err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
