package valkeystore

import (
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/servertest"
)

// valkey-go sends a command again where the end of its connection's lifetime
// comes before the reply.
func TestClientsWithALifetimeAreRefused(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		clustered := servertest.Start(t, s.Kind(), &servertest.Config{Cluster: true})
		clustered.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
		replica := valkey.StandaloneOption{ReplicaAddress: []string{s.Addr()}}
		for name, kind := range map[string]struct {
			addr string
			opts valkey.ClientOption
		}{
			"single":   {s.Addr(), valkey.ClientOption{ForceSingleClient: true}},
			"cluster":  {clustered.Addr(), valkey.ClientOption{}},
			"redirect": {s.Addr(), valkey.ClientOption{Standalone: valkey.StandaloneOption{EnableRedirect: true}}},
			"replicas": {s.Addr(), valkey.ClientOption{Standalone: replica, SendToReplicas: func(valkey.Completed) bool { return false }}},
		} {
			if name == "redirect" && s.Kind() == servertest.Redis {
				continue // unknown there
			}
			for _, lifetime := range []time.Duration{0, time.Hour} {
				kind.opts.ConnLifetime = lifetime
				raw, _ := open(t, kind.addr, kind.opts)
				if s, err := New(raw, nil); (s == nil) != (lifetime > 0) || (err == nil) != (lifetime == 0) {
					t.Errorf("%s with a lifetime of %v: %v", name, lifetime, err)
				}
			}
		}
	})
}
