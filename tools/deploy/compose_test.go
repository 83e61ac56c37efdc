package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

func project(t *testing.T) *types.Project {
	t.Helper()
	name, err := filepath.Abs("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(name),
		ConfigFiles: []types.ConfigFile{{Filename: name}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeFileIsValid(t *testing.T) {
	p := project(t)
	var names []string
	for name, s := range p.Services {
		names = append(names, name)
		if s.Build == nil && !regexp.MustCompile(`^[a-z/]+:v?[0-9]+\.[0-9.]+$`).MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: the port %s is published beyond loopback", name, port.Published)
			}
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type != "bind" || !v.ReadOnly || err != nil {
				t.Errorf("%s: the volume %s: %v, want something of the repository, read-only", name, v.Source, err)
			}
		}
	}
	slices.Sort(names)
	if want := []string{"envoy", "grafana", "prometheus", "valkey", "weir"}; !slices.Equal(names, want) {
		t.Errorf("services %q, want %q", names, want)
	}
	weir := p.Services["weir"]
	if !weir.ReadOnly || !slices.Equal(weir.CapDrop, []string{"ALL"}) || !slices.Contains(weir.SecurityOpt, "no-new-privileges:true") {
		t.Error("weir has rights that it does not need")
	}
	if _, err := os.Stat(filepath.Join(weir.Build.Context, weir.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
}

// TestComposePartsFindEachOther compares the ports that weir listens on with those that
// the others are told.
func TestComposePartsFindEachOther(t *testing.T) {
	var weir struct {
		Listen struct{ GRPC, HTTP, Admin string }
		Store  struct{ URL string }
	}
	read(t, "weir/weir.yaml", &weir)
	var prometheus struct {
		Rules  []string `yaml:"rule_files"`
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	read(t, "prometheus.yml", &prometheus)
	if got := prometheus.Scrape[0].Static[0].Targets; !slices.Equal(got, []string{"weir:" + portOf(weir.Listen.Admin)}) {
		t.Errorf("Prometheus reads %q, and weir has its metrics at %s", got, weir.Listen.Admin)
	}
	mounted := func(service, target string) string {
		for _, v := range project(t).Services[service].Volumes {
			if v.Target == target {
				return v.Source
			}
		}
		t.Errorf("%s has nothing at %s", service, target)
		return ""
	}
	for _, target := range prometheus.Rules {
		if source := mounted("prometheus", target); filepath.Base(source) != "rules.yaml" {
			t.Errorf("Prometheus has %s at %s", source, target)
		}
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	read(t, "grafana/dashboards/weir.yaml", &dashboards)
	if found, err := filepath.Glob(filepath.Join(mounted("grafana", dashboards.Providers[0].Options.Path), "*.json")); err != nil || len(found) == 0 {
		t.Errorf("Grafana has no dashboard: %v", err)
	}
	if envoy := text(t, "envoy.yaml"); !strings.Contains(envoy, "{address: weir, port_value: "+portOf(weir.Listen.GRPC)+"}") {
		t.Errorf("Envoy does not ask weir at %s", weir.Listen.GRPC)
	}
	if !strings.HasPrefix(weir.Store.URL, "redis://valkey:") {
		t.Errorf("the store is %s, and the service valkey", weir.Store.URL)
	}
	if grafana := text(t, "grafana/datasources/prometheus.yaml"); !strings.Contains(grafana, "url: http://prometheus:9090\n") {
		t.Error("Grafana does not ask Prometheus")
	}
	published := map[string]bool{}
	for _, port := range project(t).Services["weir"].Ports {
		published[port.Published] = true
	}
	if !published[portOf(weir.Listen.HTTP)] || !published[portOf(weir.Listen.GRPC)] || published[portOf(weir.Listen.Admin)] {
		t.Errorf("published are %v, want HTTP and gRPC, and not the operators' %s", published, weir.Listen.Admin)
	}
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../deploy/compose", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text(t, name)), into); err != nil {
		t.Fatal(err)
	}
}
