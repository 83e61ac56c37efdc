// Package config reads the configuration of the service: a strict file in YAML, variables
// of the environment over it, and flags over both.
package config

import (
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/storeurl"
)

// FormatVersion is the version of the files that this package reads.
const FormatVersion = 1

// Config is a configuration that was checked: its values are within their bounds, and the
// files that hold secrets were read. It must not be changed.
type Config struct {
	// Version is FormatVersion.
	Version int `yaml:"version"`
	// Insecure lets the service listen beyond loopback without Auth.
	Insecure bool   `yaml:"insecure"`
	Listen   Listen `yaml:"listen"`
	TLS      *TLS   `yaml:"tls"`
	Store    Store  `yaml:"store"`
	// OnFailure is closed, open or local.
	OnFailure string     `yaml:"on_failure"`
	Local     Local      `yaml:"local"`
	Breaker   *Breaker   `yaml:"breaker"`
	DenyCache *DenyCache `yaml:"denycache"`
	Lease     *Lease     `yaml:"lease"`
	// Limits are the limits that are asked by name.
	Limits map[string]string `yaml:"limits"`
	Policy Policy            `yaml:"policy"`
	// SecretFile has the key of the HMAC that stands for secret attributes, and from which
	// the key of reservations is made.
	SecretFile  string            `yaml:"secret_file" kind:"path"`
	RLS         *RLS              `yaml:"rls"`
	Gubernator  *Gubernator       `yaml:"gubernator"`
	Auth        *Auth             `yaml:"auth"`
	Tenants     map[string]Tenant `yaml:"tenants"`
	SelfLimits  SelfLimits        `yaml:"self_limits"`
	Idempotency Idempotency       `yaml:"idempotency"`
	Audit       *Audit            `yaml:"audit"`
	UI          UI                `yaml:"ui"`
	Log         Log               `yaml:"log"`
	Tracing     *Tracing          `yaml:"tracing"`
	Shutdown    Shutdown          `yaml:"shutdown"`

	url    *storeurl.URL
	limits []weir.Limit
	secret []byte // of SecretFile; nil for none
	store  StoreSecrets
}

// Listen are the addresses that the service listens on, HOST:PORT. Port 0 is any that is
// free.
type Listen struct {
	GRPC  string `yaml:"grpc"`
	HTTP  string `yaml:"http"`
	Admin string `yaml:"admin"`
}

// TLS are the files of the certificate of all listeners.
type TLS struct {
	CertFile string `yaml:"cert_file" kind:"path"`
	KeyFile  string `yaml:"key_file" kind:"path"`
	// ClientCAFile has the authorities of client certificates, which are then asked for.
	ClientCAFile string `yaml:"client_ca_file" kind:"path"`
}

// Store is where the states are kept.
type Store struct {
	// URL is a store URL. It may hold a password: rather use PasswordFile.
	URL string `yaml:"url"`
	// PasswordFile has the password for the user of the URL.
	PasswordFile string `yaml:"password_file" kind:"path"`
	// CAFile has the authorities of the certificates of the servers; "" are those of the
	// system.
	CAFile string `yaml:"ca_file" kind:"path"`
	// SentinelUser and SentinelPasswordFile log in at Sentinels.
	SentinelUser         string `yaml:"sentinel_user"`
	SentinelPasswordFile string `yaml:"sentinel_password_file" kind:"path"`
	// Prefix begins the names of all keys. "" is "w".
	Prefix string `yaml:"prefix"`
	// Timeout bounds a call to the store. 0 is 100 ms.
	Timeout time.Duration `yaml:"timeout"`
	// MaxKeys bounds the keys of a store in memory: what does not fit is a failure of the
	// store. 0 is a million.
	MaxKeys int `yaml:"max_keys"`
}

// Local is what answers where OnFailure is local.
type Local struct {
	// Share is among how many processes a limit is shared: each has 1/Share of it. 0 is 1.
	Share int `yaml:"share"`
	// MaxKeys bounds the keys. 0 is 100,000.
	MaxKeys int `yaml:"max_keys"`
}

// Breaker is resilience.BreakerOptions.
type Breaker struct {
	Window         time.Duration `yaml:"window"`
	MinCalls       int           `yaml:"min_calls"`
	FailurePercent int           `yaml:"failure_percent"`
	SlowCall       time.Duration `yaml:"slow_call"`
	OpenFor        time.Duration `yaml:"open_for"`
	Probes         int           `yaml:"probes"`
}

// DenyCache is resilience.DenyCacheOptions.
type DenyCache struct {
	MaxEntries int  `yaml:"max_entries"`
	AnyCost    bool `yaml:"any_cost"`
}

// Lease is resilience.LeaseOptions.
type Lease struct {
	Units int `yaml:"units"`
	// MaxSharePercent is LeaseOptions.MaxShare in percent, 1 to 50.
	MaxSharePercent int           `yaml:"max_share_percent"`
	Life            time.Duration `yaml:"life"`
	MaxKeys         int           `yaml:"max_keys"`
}

// Policy is where the policy comes from: a file, or a document on the server of the store.
// Without either there is one without rules.
type Policy struct {
	File string `yaml:"file" kind:"path"`
	Key  string `yaml:"key"`
	// Refresh is how often it is looked at where no change is noticed. 0 is 2 s.
	Refresh time.Duration `yaml:"refresh"`
}

// RLS is the service that Envoy asks.
type RLS struct {
	Files []string `yaml:"files" kind:"path"`
	// Charge is upstream or exact. "" is upstream.
	Charge string `yaml:"charge"`
	// Shadow answers OK to every request, as SHADOW_MODE does.
	Shadow bool `yaml:"shadow"`
	// Quota treats every descriptor as one with quota_mode, as QUOTA_MODE does.
	Quota bool `yaml:"quota"`
	// Headers are response headers that Envoy is asked to add. nil adds none.
	Headers *RLSHeaders `yaml:"headers"`
	// DynamicMetadata adds the request and the metadata of its limits to the answer.
	DynamicMetadata bool `yaml:"dynamic_metadata"`
	// MergeDomains lets several files describe one domain, as MERGE_DOMAIN_CONFIG does.
	MergeDomains bool `yaml:"merge_domains"`
	// Strict refuses the key "weir" in Files.
	Strict bool `yaml:"strict"`
}

// RLSHeaders are names of headers. "" is RateLimit-Limit, RateLimit-Remaining and
// RateLimit-Reset.
type RLSHeaders struct {
	Limit     string `yaml:"limit"`
	Remaining string `yaml:"remaining"`
	Reset     string `yaml:"reset"`
}

// Gubernator is the service pb.gubernator.V1.
type Gubernator struct {
	Enabled bool `yaml:"enabled"`
	// Zone is where days, months and years of DURATION_IS_GREGORIAN begin: a name of the IANA
	// time zone database. "" is UTC.
	Zone string `yaml:"zone"`
}

// Auth says who may call.
type Auth struct {
	// File is the table of callers: see package auth.
	File string `yaml:"file" kind:"path"`
}

// Tenant is what a tenant has for itself; what is not set is as for the service.
type Tenant struct {
	Policy Policy `yaml:"policy"`
	// Prefix follows Store.Prefix. "" is the name of the tenant and a colon.
	Prefix     string            `yaml:"prefix"`
	OnFailure  string            `yaml:"on_failure"`
	Limits     map[string]string `yaml:"limits"`
	SelfLimits SelfLimits        `yaml:"self_limits"`

	limits []weir.Limit
}

// SelfLimits are how much may be asked of one process, as specs; "unlimited" is no limit.
type SelfLimits struct {
	Checks string `yaml:"checks"`
	Reads  string `yaml:"reads"`
	Writes string `yaml:"writes"`
}

// Idempotency is how long idempotency keys count.
type Idempotency struct {
	// TTL is 1 s to 24 h, less 1 s. 0 is 5 min.
	TTL time.Duration `yaml:"ttl"`
}

// Audit is the log of changes.
type Audit struct {
	// Folder has its files.
	Folder string `yaml:"folder" kind:"path"`
	// Days is how long files are kept. 0 is 90.
	Days int `yaml:"days"`
	// KeyFile has the key of the hash of users, so that logs of several nodes can be
	// searched together. "" makes one for this folder.
	KeyFile string `yaml:"key_file" kind:"path"`

	key []byte
}

// UI is the page for operators.
type UI struct {
	// ShowKeys shows the keys of subjects on the page, and not a hash of them.
	ShowKeys bool `yaml:"show_keys"`
}

// Log is what the service writes about decisions.
type Log struct {
	// KeyHash adds a hash of the limit's key to the lines: that of the page.
	KeyHash bool `yaml:"key_hash"`
}

// Tracing is where spans are sent to.
type Tracing struct {
	// Endpoint is that of a collector of OTLP over gRPC, such as http://127.0.0.1:4317; https
	// for TLS. What else there is to set, such as headers and a certificate, is in the
	// variables OTEL_EXPORTER_OTLP_* and OTEL_RESOURCE_ATTRIBUTES of OpenTelemetry.
	Endpoint string `yaml:"endpoint"`
	// Sample is the part of the requests that is traced, 0 to 1, of those whose caller says
	// nothing: a caller that is sampled is followed, and one that is not is not. 0.01 unless it
	// is set.
	Sample float64 `yaml:"sample"`
	// Spans makes a span weir.take of the answer of each limit. Otherwise the span of the
	// request has it as attributes.
	Spans bool `yaml:"spans"`
}

// Shutdown bounds how long the service takes to stop.
type Shutdown struct {
	// Drain is how long it goes on to accept calls after it has said that it is not ready: 5 s
	// unless it is set. 0 is not at all.
	Drain time.Duration `yaml:"drain"`
	// Timeout is how long calls may take after that: 30 s unless it is set.
	Timeout time.Duration `yaml:"timeout"`
}

// StoreSecrets are what the files of Store hold.
type StoreSecrets struct {
	Password, SentinelPassword string
	CA                         []byte // PEM; nil for none
}

// DefaultTenant is the tenant that there is where Tenants has none.
const DefaultTenant = "default"

// What follows Store.Prefix in the keys of the fronts, which have states of their own.
const (
	RLSPrefix        = "rls:"
	GubernatorPrefix = "gubernator:"
)

// URL is Store.URL.
func (c *Config) URL() *storeurl.URL { return c.url }

// NamedLimits are Limits.
func (c *Config) NamedLimits() []weir.Limit { return c.limits }

// NamedLimits are the limits of the tenant alone.
func (t *Tenant) NamedLimits() []weir.Limit { return t.limits }

// Secret is what SecretFile holds; nil for none.
func (c *Config) Secret() []byte { return c.secret }

// Secrets are what the files of Store hold.
func (c *Config) Secrets() StoreSecrets { return c.store }

// Key is what KeyFile holds; nil for none.
func (a *Audit) Key() []byte { return a.key }

// defaults are the values of a configuration without any.
func defaults() *Config {
	return &Config{
		Version:  FormatVersion,
		Listen:   Listen{GRPC: "127.0.0.1:8081", HTTP: "127.0.0.1:8080", Admin: "127.0.0.1:6070"},
		Store:    Store{URL: storeurl.Memory, Prefix: "w", MaxKeys: 1_000_000},
		Local:    Local{Share: 1, MaxKeys: 100_000},
		Shutdown: Shutdown{Drain: 5 * time.Second, Timeout: 30 * time.Second},
	}
}
