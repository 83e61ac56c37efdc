package envoy

import (
	"os"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestDeployedEnvoyAsksThisService reads the Envoy of deploy/compose.yaml as Envoy does,
// with its own messages, and compares what it asks with what the service knows.
func TestDeployedEnvoyAsksThisService(t *testing.T) {
	text, err := os.ReadFile("../../deploy/compose/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var envoy bootstrapv3.Bootstrap
	if err := protojson.Unmarshal(asJSON, &envoy); err != nil {
		t.Fatal(err)
	}
	if err := envoy.ValidateAll(); err != nil {
		t.Error(err)
	}
	var manager managerv3.HttpConnectionManager
	if err := envoy.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(&manager); err != nil {
		t.Fatal(err)
	}
	if err := manager.ValidateAll(); err != nil {
		t.Error(err)
	}
	var limit ratelimitv3.RateLimit
	if err := manager.GetHttpFilters()[0].GetTypedConfig().UnmarshalTo(&limit); err != nil {
		t.Fatal(err)
	}
	if err := limit.ValidateAll(); err != nil {
		t.Error(err)
	}
	cluster := envoy.GetStaticResources().GetClusters()[0].GetName()
	if asked := limit.GetRateLimitService().GetGrpcService().GetEnvoyGrpc().GetClusterName(); asked != cluster {
		t.Errorf("it asks %q, and the cluster is %q", asked, cluster)
	}
	actions := manager.GetRouteConfig().GetVirtualHosts()[0].GetRateLimits()
	if len(actions) != 1 || actions[0].GetActions()[0].GetRemoteAddress() == nil {
		t.Errorf("it describes requests by %v, want the address", actions)
	}
	var rules struct {
		Domain      string
		Descriptors []struct{ Key string }
	}
	if text, err = os.ReadFile("../../deploy/compose/weir/rls.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse([]File{{Name: "rls.yaml", Text: string(text)}}, nil); err != nil {
		t.Error(err)
	}
	if rules.Domain != limit.GetDomain() || len(rules.Descriptors) != 1 || rules.Descriptors[0].Key != "remote_address" {
		t.Errorf("the service knows %+v, and Envoy asks of %q", rules, limit.GetDomain())
	}
}
