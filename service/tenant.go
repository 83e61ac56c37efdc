package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/policy/watch"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/service/document"
	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/service/rules"
	"github.com/weirgo/weir/service/users"
	"github.com/weirgo/weir/ui"
)

// tenant is what one tenant has.
type tenant struct {
	name      string
	engine    *engine.Engine
	stack     *stack
	onFailure policy.OnFailure
	compile   *policy.CompileOptions
	watcher   *watch.Watcher
	reported  watch.Status // what report got last
	rules     *rules.Rules // nil where the policy comes from a file
	file      string       // its name; "" where it does not
	users     *users.Users
	hashKey   []byte // of keys on the page and in the log
	log       weir.Observer
	recorder  *ui.Recorder
	page      *ui.Handler
	versions  policyVersions
}

// settings are those of a tenant: its own ones, or those of the service.
func settings(c *config.Config, name string) (own config.Tenant, limits []weir.Limit) {
	own, listed := c.Tenants[name]
	limits = own.NamedLimits()
	if !listed || own.Limits == nil {
		limits = c.NamedLimits()
	}
	if own.Policy.File == "" && own.Policy.Key == "" {
		own.Policy = c.Policy
	}
	own.OnFailure = cmp.Or(own.OnFailure, c.OnFailure, string(policy.FailClosed))
	return own, limits
}

func (s *Service) openTenants(ctx context.Context, c *config.Config) error {
	for _, name := range tenantNames(c) {
		t, err := s.openTenant(ctx, c, name)
		if err != nil {
			return fmt.Errorf("service: tenant %s: %w", name, err)
		}
		s.tenants[name] = t
	}
	return nil
}

func (s *Service) openTenant(ctx context.Context, c *config.Config, name string) (opened *tenant, err error) {
	own, limits := settings(c, name)
	t := &tenant{name: name, onFailure: policy.OnFailure(own.OnFailure), hashKey: hashKey(c, name)}
	t.log = s.logOf(t, c)
	if t.recorder, err = ui.NewRecorder(nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.recorder.Close())
		}
	}()
	if t.stack, err = s.stores.open(name, own.Prefix); err != nil {
		return nil, err
	}
	t.compile = compileOptions(c)
	documents, has := document.Of(t.stack.bare)
	if !has {
		documents = new(document.Memory).Document
	}
	source, err := s.source(ctx, t, own.Policy, documents)
	if err != nil {
		return nil, err
	}
	t.watcher, err = watch.New(ctx, source, &watch.Options{Interval: own.Policy.Refresh, Compile: t.compile, Report: s.report(t)})
	if err != nil {
		return nil, err
	}
	t.reported = t.watcher.Status()
	t.versions.next(t.watcher.File())
	t.users = users.New(documents, nil)
	lookup := t.users.Lookup()
	lookup.Entries = mostUsers
	o := &engine.Options{
		Policy: t.watcher.Policy(), Limits: limits, OnFailure: t.onFailure, Local: t.stack.local, Timeout: c.Store.Timeout,
		Idempotency: c.Idempotency.TTL, ReservationKey: reservationKey(c, name), Observer: s.observerOf(t),
		Enforcer: &policy.EnforcerOptions{Subjects: lookup, Observer: s.verdicts(t), Leases: t.stack.lease != nil},
	}
	if name != config.DefaultTenant {
		o.Tenant = name
	}
	if t.engine, err = engine.New(t.stack.store, o); err != nil {
		return nil, err
	}
	s.metrics.watchTenant(t)
	t.recorder.AddEnforcer(t.name, t.engine.Enforcer())
	watchStack(t.recorder, t.name, t.stack)
	return t, nil
}

const (
	// mostUsers is of how many users it is remembered what they have for themselves.
	mostUsers = 100_000
	// policyDocument is the document of the policy where the configuration names none.
	policyDocument = "policy"
)

// source is where the policy of a tenant comes from: a file, or a document that operators
// may change.
func (s *Service) source(ctx context.Context, t *tenant, p config.Policy, documents document.Documents) (watch.Source, error) {
	if p.File != "" {
		t.file = p.File
		return watch.File(p.File), nil
	}
	doc, err := documents(cmp.Or(p.Key, policyDocument))
	if err != nil {
		return nil, err
	}
	t.rules, err = rules.Open(ctx, doc, &rules.Options{Compile: t.compile, Initial: s.opts.Policy})
	return doc, err
}

// report logs and audits what happens to the policy of a tenant. Whether changes are noticed
// is logged, and is no reload.
func (s *Service) report(t *tenant) func(watch.Status) {
	return func(st watch.Status) {
		before := t.reported
		t.reported = st
		log := s.log.With(slog.String("tenant", t.name), slog.String("version", st.Version))
		if st.NotifyErr != nil && !sameError(before.NotifyErr, st.NotifyErr) {
			log.Warn("changes of the policy are seen late", "error", st.NotifyErr)
		}
		if before.Version == st.Version && before.Revision == st.Revision && before.Since.Equal(st.Since) && sameError(before.Err, st.Err) {
			return
		}
		t.versions.next(t.watcher.File())
		s.metrics.ObserveReload(st.Err)
		if st.Err != nil {
			log.Error("the policy was not replaced", "error", st.Err)
		} else {
			log.Info("policy", "revision", st.Revision)
		}
		s.auditReload("policy.reload", t.name, st.Version, st.Err)
	}
}

// sameError reports whether two errors say the same.
func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error()
}

// compileOptions are those of all policies of the service. With leases it leases every limit
// that can be leased, whether a rule asks for it or not.
func compileOptions(c *config.Config) *policy.CompileOptions {
	return &policy.CompileOptions{SecretKey: derived(c.Secret(), "attributes"), NoLeases: c.Lease == nil}
}

// derived makes a key for one use of a secret; nil where there is no secret.
func derived(secret []byte, use string) []byte {
	if secret == nil {
		return nil
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("weir " + use))
	return mac.Sum(nil)
}

// hashKey is the key of the hash of the keys of a tenant. Where there is no secret, it is one of
// this process.
func hashKey(c *config.Config, tenant string) []byte {
	secret := c.Secret()
	if secret == nil {
		secret = make([]byte, 32)
		rand.Read(secret) // never fails
	}
	return derived(secret, "subjects of "+tenant)
}

// reservationKey signs the reservations of a tenant. Where there is no secret, a store in
// memory has one of this process; on a server all nodes need the same, so there is none.
func reservationKey(c *config.Config, tenant string) []byte {
	secret := c.Secret()
	if secret == nil && c.URL().InMemory() {
		secret = make([]byte, 32)
		rand.Read(secret) // never fails
	}
	return derived(secret, "reservations of "+tenant)
}
