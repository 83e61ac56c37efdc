package service

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/weirgo/weir/service/config"
)

// reloadable are the fields that Reload takes over; of tenants it is their limits.
var reloadable = []string{"limits", "auth", "tenants", "shutdown"}

// Reload takes over what a new configuration says of limits by name, callers, the certificate and the
// shutdown. Policies and the files of rls need no Reload: they are watched. A configuration
// that changes something else, and one with a table of callers that is not valid, is an
// error, and the one before goes on.
func (s *Service) Reload(c *config.Config) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	err := s.reload(c)
	s.reloaded(err)
	return err
}

// ReloadFailed is a Reload that failed for want of a configuration, such as where the file is
// not valid: it is logged, counted and audited alike. err says why, and must not be nil.
func (s *Service) ReloadFailed(err error) { s.reloaded(err) }

func (s *Service) reloaded(err error) {
	s.metrics.ObserveReload(err)
	if err != nil {
		s.log.Error("the configuration was not replaced", "error", err)
	} else {
		s.log.Info("configuration replaced")
	}
	s.auditReload("reload", "", "", err)
}

func (s *Service) reload(c *config.Config) error {
	if c == nil {
		return errors.New("service: config is nil: must be what config.Load returns")
	}
	if changed := needRestart(s.config.Load(), c); len(changed) > 0 {
		return fmt.Errorf("service: %s changed: needs a restart", strings.Join(changed, ", "))
	}
	table, err := loadTable(c)
	if err != nil {
		return err
	}
	secure, err := serverTLS(c.TLS)
	if err != nil {
		return err
	}
	if table != nil {
		if err := s.guard.Swap(table); err != nil {
			return fmt.Errorf("service: %w", err)
		}
	}
	for name, t := range s.tenants {
		_, limits := settings(c, name)
		if err := t.engine.SetLimits(limits); err != nil { // config has checked them
			return fmt.Errorf("service: tenant %s: %w", name, err)
		}
	}
	s.tls.Store(secure)
	s.config.Store(c)
	return nil
}

// needRestart returns the fields that changed and are not reloadable.
func needRestart(before, after *config.Config) (changed []string) {
	a, b := reflect.ValueOf(*before), reflect.ValueOf(*after)
	for i := range a.NumField() {
		name := a.Type().Field(i).Tag.Get("yaml")
		if name == "" || isReloadable(name) || reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			continue
		}
		changed = append(changed, name)
	}
	was, is := before.Secrets(), after.Secrets()
	for _, of := range []struct{ path, before, after string }{
		{"secret_file", string(before.Secret()), string(after.Secret())},
		{"store.password_file", was.Password, is.Password},
		{"store.sentinel_password_file", was.SentinelPassword, is.SentinelPassword},
		{"store.ca_file", string(was.CA), string(is.CA)},
	} {
		if of.before != of.after {
			changed = append(changed, of.path)
		}
	}
	if (before.Auth == nil) != (after.Auth == nil) {
		changed = append(changed, "auth")
	}
	if !reflect.DeepEqual(withoutLimits(before), withoutLimits(after)) {
		changed = append(changed, "tenants")
	}
	return changed
}

func isReloadable(name string) bool {
	for _, r := range reloadable {
		if r == name {
			return true
		}
	}
	return false
}

// ownSettings is a tenant but for its limits.
type ownSettings struct {
	Policy            config.Policy
	Prefix, OnFailure string
	SelfLimits        config.SelfLimits
}

func withoutLimits(c *config.Config) map[string]ownSettings {
	all := map[string]ownSettings{}
	for name, t := range c.Tenants {
		all[name] = ownSettings{t.Policy, t.Prefix, t.OnFailure, t.SelfLimits}
	}
	return all
}
