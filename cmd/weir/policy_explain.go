package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/policy"
	redisstore "github.com/weirgo/weir/store/redis"
)

// explain shows how a policy comes to its answer for a request.
func (c *policyCommand) explain(ctx context.Context, s *streams, at time.Time) error {
	request, err := c.request()
	if err != nil {
		return err
	}
	on, opts, err := c.server()
	if err != nil {
		return err
	}
	file, err := loadPolicy(ctx, s, c.Files[0], opts)
	if err != nil {
		return err
	}
	if on != nil && c.SecretKey == "" && hasSecret(&file.Policy) {
		return usageError{errors.New("--secret-key is missing: the keys on the server are made with it, since the policy has secret attributes")}
	}
	now, err := algorithm.InstantOf(at)
	if err != nil {
		return usageError{fmt.Errorf("--at: %w", err)}
	}
	e := file.Compiled.Explain(request, now)
	text := fmt.Sprintf("policy %s, version %s\n%s", shownName(c.Files[0]), file.Compiled.Version(), e)
	if _, err := io.WriteString(s.out, report.Visible(text)); err != nil {
		return err
	}
	if on != nil {
		return c.stand(ctx, s.out, on, file.Compiled, request, now)
	}
	denied := e.List == policy.Denied
	for _, r := range e.Rules {
		for _, l := range r.Limits {
			denied = denied || l.Enforced && (l.Action == policy.ActionBlock || l.Action == policy.ActionMissing)
		}
	}
	if denied {
		return answerError{errors.New("the request is denied, whatever the states are")}
	}
	return nil
}

// request is what the flags say of it.
func (c *policyCommand) request() (policy.Request, error) {
	r := policy.Request{Method: c.Method, Host: c.Host, Path: withoutQuery(c.Path), Attributes: policy.Attributes{}}
	for _, text := range c.Attr {
		name, value, has := strings.Cut(text, "=")
		if !has || name == "" {
			return r, usageError{fmt.Errorf("--attr: %q is not allowed: must be NAME=VALUE", text)}
		}
		if _, twice := r.Attributes[name]; twice {
			return r, usageError{fmt.Errorf("--attr: %s was given twice: must be once", name)}
		}
		r.Attributes[name] = value
	}
	return r, nil
}

// server is where the states are, nil for nowhere, with the options to find them there.
func (c *policyCommand) server() (*endpoint, *policy.CompileOptions, error) {
	opts := &policy.CompileOptions{SecretKey: someKey}
	if c.SecretKey != "" {
		key, err := os.ReadFile(c.SecretKey)
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("--secret-key: %w", err)}
		}
		opts.SecretKey = bytes.TrimRight(key, "\r\n")
		if len(opts.SecretKey) < len(someKey) {
			return nil, nil, usageError{fmt.Errorf("--secret-key: a key of %d bytes is not allowed: must have %d or more", len(opts.SecretKey), len(someKey))}
		}
	}
	if c.Store == "" {
		if c.Prefix != nil {
			return nil, nil, usageError{errors.New("--prefix is for --store: must be left out")}
		}
		return nil, opts, nil
	}
	on, err := parseStoreURL(c.Store)
	if err == nil {
		err = on.checkPrefix(c.Prefix, maxPrefix)
	}
	if err == nil && !on.server {
		err = usageError{fmt.Errorf("--store: %s has no states: must be a server", on.shown)}
	}
	return on, opts, err
}

func hasSecret(p *policy.Policy) bool {
	for _, a := range p.Attributes {
		if a.Secret {
			return true
		}
	}
	return false
}

// stand shows how the limits of a request stand on a server.
func (c *policyCommand) stand(ctx context.Context, w io.Writer, on *endpoint, compiled *policy.Compiled, r policy.Request, at algorithm.Instant) (err error) {
	connection, err := on.connect(ctx, true)
	if err != nil {
		return fmt.Errorf("%s: %w", on.shown, err)
	}
	defer connection.Close()
	opts := &redisstore.Options{}
	if c.Prefix != nil {
		opts.Prefix = *c.Prefix
	}
	states, err := connection.Open(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, states.Close()) }()
	decider, err := weir.NewMultiLimiter(states, &weir.Options{Timeout: callTimeout})
	if err != nil {
		return err
	}
	// Where the server does not answer, that is the answer, whatever a rule says.
	enforcer, err := policy.NewEnforcer(decider, compiled, &policy.EnforcerOptions{
		Local: decider, Clock: &traceClock{at}, Sequential: true,
		Leases: true, // a look has none, and shows what the store knows
	})
	if err != nil {
		return err
	}
	verdict, err := enforcer.Peek(ctx, r)
	if err == nil {
		err = verdict.Cause
	}
	if err != nil {
		return fmt.Errorf("%s: %w", on.shown, err)
	}
	return showVerdict(w, &verdict)
}

func showVerdict(w io.Writer, v *policy.Verdict) error {
	var text strings.Builder
	text.WriteString("now:\n")
	for _, r := range v.Rules {
		fmt.Fprintf(&text, "  limit %s: ", r.Limit.Name)
		switch {
		case r.Err != nil:
			fmt.Fprintf(&text, "not known: %v", r.Err)
		case !r.Decided:
			text.WriteString("not asked")
		case r.Allowed:
			fmt.Fprintf(&text, "admits, with %d of %d left then, %s", r.Decision.Remaining, r.Decision.Limit, r.Standing)
		default:
			fmt.Fprintf(&text, "denies, %s", again(r.RetryAfter))
		}
		if r.Shards > 0 && r.Decided {
			fmt.Fprintf(&text, ", in one of %d shards", r.Shards)
		}
		if !r.Enforced {
			text.WriteString(", in shadow")
		}
		text.WriteByte('\n')
	}
	if v.Allowed {
		text.WriteString("the request is allowed\n")
	} else {
		fmt.Fprintf(&text, "the request is denied, %s\n", again(v.RetryAfter))
	}
	if _, err := io.WriteString(w, report.Visible(text.String())); err != nil {
		return err
	}
	if !v.Allowed {
		return answerError{errors.New("the request is denied")}
	}
	return nil
}

// again says when to ask again.
func again(after time.Duration) string {
	if after == weir.Never {
		return "and is so for ever"
	}
	return "again in " + after.String()
}
