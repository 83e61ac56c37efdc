package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/policy/watch"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/service/envoy"
)

// Explain reads every file that a configuration names, and says in words what a service
// would do by it. It listens on nothing and asks no server, so a policy on a server is not
// looked at. opts are those that New would get. An error is what New would return.
func Explain(ctx context.Context, c *config.Config, opts *Options) (string, error) {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	secure := "without TLS"
	if _, err := serverTLS(c.TLS); err != nil {
		return "", err
	} else if c.TLS != nil {
		secure = "with TLS"
	}
	line("listen", "gRPC %s, HTTP %s, %s; admin %s", c.Listen.GRPC, c.Listen.HTTP, secure, c.Listen.Admin)
	line("store", "%s", storeWords(c))
	if !c.URL().InMemory() {
		line("on_failure", "%s", failureWords(c))
	}
	if err := tryStack(c); err != nil {
		return "", err
	}
	for _, part := range []struct {
		name string
		on   bool
	}{{"breaker", c.Breaker != nil}, {"denycache", c.DenyCache != nil}, {"lease", c.Lease != nil}} {
		if part.on {
			line(part.name, "on")
		}
	}
	for _, name := range tenantNames(c) {
		own, limits := settings(c, name)
		words, err := policyWords(ctx, c, own.Policy, opts)
		if err != nil {
			return "", fmt.Errorf("service: tenant %s: %w", name, err)
		}
		line("tenant", "%s: %s; limits by name: %d", name, words, len(limits))
	}
	if c.RLS != nil {
		files, err := envoy.ReadFiles(ctx, c.RLS.Files...)
		if err != nil {
			return "", fmt.Errorf("service: rls: %w", err)
		}
		parse := parseOptions(c.RLS)
		if _, err := envoy.Parse(files, &parse); err != nil {
			return "", fmt.Errorf("service: rls: %w", err)
		}
		line("rls", "%d files for Envoy, charge %s", len(files), cmp.Or(c.RLS.Charge, "upstream"))
	}
	table, err := loadTable(c)
	if err != nil {
		return "", err
	}
	if table == nil {
		line("auth", "none: everybody who reaches it may do everything")
	} else {
		line("auth", "callers of %s", c.Auth.File)
	}
	if c.Audit == nil {
		line("audit", "none")
	} else {
		line("audit", "%s", c.Audit.Folder)
	}
	if t := c.Tracing; t != nil {
		line("tracing", "to %s, %g %% of the requests whose caller does not decide it", t.Endpoint, 100*t.Sample)
	}
	line("shutdown", "drains for %s, then at most %s", c.Shutdown.Drain, c.Shutdown.Timeout)
	return b.String(), nil
}

// tryStack makes what stands around the store of a tenant, over one in memory.
func tryStack(c *config.Config) error {
	tried := &stores{config: c, log: slog.New(slog.DiscardHandler)}
	_, err := tried.open("", "")
	return errors.Join(err, tried.close())
}

func storeWords(c *config.Config) string {
	if c.URL().InMemory() {
		return "memory of this process: other processes count by themselves, and a restart forgets"
	}
	return fmt.Sprintf("%s, keys begin with %s, a call takes at most %s", c.URL(), c.Store.Prefix, timeoutOf(c))
}

func timeoutOf(c *config.Config) time.Duration {
	return cmp.Or(c.Store.Timeout, 100*time.Millisecond)
}

func failureWords(c *config.Config) string {
	switch policy.OnFailure(c.OnFailure) {
	case policy.FailOpen:
		return "open: while the server does not answer, requests are admitted and not counted"
	case policy.FailLocal:
		return fmt.Sprintf("local: while the server does not answer, each process admits 1/%d of each limit", c.Local.Share)
	}
	return "closed: while the server does not answer, requests get an error"
}

func policyWords(ctx context.Context, c *config.Config, p config.Policy, opts *Options) (string, error) {
	switch {
	case p.Key != "":
		return "policy in the document " + p.Key + " on the server", nil
	case p.File == "" && !c.URL().InMemory():
		return "policy in the document " + policyDocument + " on the server", nil
	case p.File == "" && (opts == nil || opts.Policy == nil):
		return "a policy without rules, which allows everything until rules are added", nil
	}
	name, text := "(an example)", []byte(nil)
	if p.File != "" {
		var err error
		if text, _, err = watch.File(p.File).Read(ctx); err != nil {
			return "", err
		}
		name = p.File
	} else {
		text = opts.Policy
	}
	file, err := policy.Parse(text, compileOptions(c))
	var invalid *policy.InvalidError
	if errors.As(err, &invalid) {
		invalid.File = name
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("policy %s, version %s, %d rules, %d findings of weir policy check",
		name, file.Compiled.Version(), len(file.Policy.Rules), len(file.Lint(nil))), nil
}
