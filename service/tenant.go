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
	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/store"
)

// tenant is what one tenant has.
type tenant struct {
	name      string
	engine    *engine.Engine
	stack     *stack
	onFailure policy.OnFailure
	watcher   *watch.Watcher // nil where the policy comes from no file and no document
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

func (s *Service) openTenant(ctx context.Context, c *config.Config, name string) (*tenant, error) {
	own, limits := settings(c, name)
	t := &tenant{name: name, onFailure: policy.OnFailure(own.OnFailure)}
	var err error
	if t.stack, err = s.stores.open(own.Prefix); err != nil {
		return nil, err
	}
	compile := &policy.CompileOptions{SecretKey: derived(c.Secret(), "attributes")}
	o := &engine.Options{
		Limits: limits, OnFailure: t.onFailure, Local: t.stack.local, Timeout: c.Store.Timeout, Idempotency: c.Idempotency.TTL,
		ReservationKey: reservationKey(c, name), Policy: s.opts.Policy, Observer: s.opts.Observer,
	}
	if name != config.DefaultTenant {
		o.Tenant = name
	}
	source, err := t.source(ctx, own.Policy)
	if err != nil {
		return nil, err
	}
	if source != nil {
		t.watcher, err = watch.New(ctx, source, &watch.Options{Interval: own.Policy.Refresh, Compile: compile, Report: s.report(name)})
		if err != nil {
			return nil, err
		}
		o.Policy = t.watcher.Policy()
	}
	t.engine, err = engine.New(t.stack.store, o)
	return t, err
}

// source is where the policy of a tenant comes from; nil for nowhere.
func (t *tenant) source(ctx context.Context, p config.Policy) (watch.Source, error) {
	switch {
	case p.File != "":
		return watch.File(p.File), nil
	case p.Key == "" || t.stack.docs == nil:
		return nil, nil
	}
	doc, err := t.stack.docs.Document(p.Key)
	if err != nil {
		return nil, err
	}
	// Where there is none yet it is one without rules.
	if text, _, err := doc.Read(ctx); err != nil {
		return nil, err
	} else if len(text) == 0 {
		if _, err := doc.Write(ctx, []byte("version: 1\n"), 0); err != nil && !errors.Is(err, store.ErrContention) {
			return nil, err
		}
	}
	return doc, nil
}

// report logs and audits what happens to the policy of a tenant.
func (s *Service) report(name string) func(watch.Status) {
	return func(st watch.Status) {
		log := s.log.With(slog.String("tenant", name), slog.String("version", st.Version))
		switch {
		case st.Err != nil:
			s.badReloads.Add(1)
			log.Error("the policy was not replaced", "error", st.Err)
		case st.NotifyErr != nil:
			log.Warn("changes of the policy are seen late", "error", st.NotifyErr)
		default:
			s.reloads.Add(1)
			log.Info("policy", "revision", st.Revision)
		}
		s.auditReload(name, st.Version, st.Err)
	}
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
