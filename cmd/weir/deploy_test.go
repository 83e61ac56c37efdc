package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/weirgo/weir/internal/servertest"
)

// TestDeployedConfigurationsAreValid checks what deploy/ gives to weir serve, and that
// each file that it names is there. The objects around it are tested in tools/deploy.
func TestDeployedConfigurationsAreValid(t *testing.T) {
	folder := t.TempDir()
	var manifest struct {
		Data map[string]string
	}
	first, _, _ := strings.Cut(read(t, "../../deploy/kubernetes/weir.yaml"), "\n---\n")
	if err := yaml.Unmarshal([]byte(first), &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Data) != 2 {
		t.Fatalf("the ConfigMap has %d files, want 2", len(manifest.Data))
	}
	for name, text := range manifest.Data {
		write(t, filepath.Join(folder, name), strings.ReplaceAll(text, "/etc/weir/secret", folder))
	}
	write(t, filepath.Join(folder, "store-password"), "a password\n")
	write(t, filepath.Join(folder, "key"), strings.Repeat("0123456789abcdef", 4)+"\n")
	write(t, filepath.Join(folder, "callers.yaml"), fmt.Sprintf("version: 1\ncallers: [{name: a, token_sha256: %x, role: check}]\n", sha256.Sum256([]byte("a token"))))

	for name, config := range map[string]string{
		"kubernetes": filepath.Join(folder, "weir.yaml"),
		"compose":    "../../deploy/compose/weir/weir.yaml",
	} {
		got := start("serve", "--check", "--config", config)
		if got.status != exitOK || got.err != "" {
			t.Errorf("%s: status %d, %s%s", name, got.status, got.out, got.err)
		}
		if insecure := strings.Contains(got.out, "everybody who reaches it may do everything"); insecure != (name == "compose") {
			t.Errorf("%s: asks nobody for a token: %v\n%s", name, insecure, got.out)
		}
		policy := filepath.Join(filepath.Dir(config), "policy.yaml")
		if got := start("policy", "check", policy); got.status != exitOK {
			t.Errorf("%s: %s%s", name, got.out, got.err)
		}
	}

	// A file that a configuration names, and that is missing, is noticed.
	if err := os.Remove(filepath.Join(folder, "policy.yaml")); err != nil {
		t.Fatal(err)
	}
	if got := start("serve", "--check", "--config", filepath.Join(folder, "weir.yaml")); got.status != exitUsage || !strings.Contains(got.err, "policy.yaml") {
		t.Errorf("status %d, %q: want the policy that is missing", got.status, got.err)
	}
}

// TestDeployedServiceAnswersEnvoy serves the configuration of the compose file on a Valkey,
// and asks what its Envoy asks.
func TestDeployedServiceAnswersEnvoy(t *testing.T) {
	valkey := servertest.Start(t, servertest.Valkey, nil)
	s := serving(t, "--config", "../../deploy/compose/weir/weir.yaml", "--store", "redis://"+valkey.Addr(), "--set", "store.timeout=1m", "--set", "breaker.slow_call=1m") // however busy the machine is
	counts := map[int]int{}
	for range 90 { // three times the limit: a minute may end in between
		reply, err := http.Post(s.http+"/json", "application/json", strings.NewReader(`{"domain": "edge", "descriptors": [{"entries": [{"key": "remote_address", "value": "192.0.2.1"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		counts[reply.StatusCode]++
	}
	if counts[200] < 30 || counts[429] < 1 || counts[200]+counts[429] != 90 {
		t.Errorf("answers by their status: %v, want 30 a minute with 200, and 429", counts)
	}

	// What its Prometheus reads, and what the probes of Kubernetes ask.
	for _, at := range []string{s.admin + "/metrics", s.http + "/healthz", s.http + "/readyz"} {
		reply, err := http.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, %v", at, reply.StatusCode, err)
		}
		if strings.HasSuffix(at, "/metrics") && !strings.Contains(string(text), "\nrate_limiter_") {
			t.Errorf("%s has no metrics of weir:\n%s", at, text)
		}
	}
}
