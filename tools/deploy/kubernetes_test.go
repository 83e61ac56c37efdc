package deploy

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	strict "sigs.k8s.io/yaml"
)

const kubernetesFile = "../../deploy/kubernetes/weir.yaml"

// objects are the objects of the file by kind and name, read with the types of Kubernetes:
// a field that they do not have is an error.
func objects(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(kubernetesFile)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for i, doc := range bytes.Split(text, []byte("\n---\n")) {
		var head struct {
			Kind, APIVersion string
			Metadata         struct{ Name string }
		}
		if err := strict.Unmarshal(doc, &head); err != nil {
			t.Fatal(err)
		}
		var object any
		switch head.APIVersion + " " + head.Kind {
		case "v1 ConfigMap":
			object = &corev1.ConfigMap{}
		case "v1 Service":
			object = &corev1.Service{}
		case "apps/v1 Deployment":
			object = &appsv1.Deployment{}
		case "policy/v1 PodDisruptionBudget":
			object = &policyv1.PodDisruptionBudget{}
		case "autoscaling/v2 HorizontalPodAutoscaler":
			object = &autoscalingv2.HorizontalPodAutoscaler{}
		default:
			t.Fatalf("document %d is a %s %s, which the test does not know", i, head.APIVersion, head.Kind)
		}
		if err := strict.UnmarshalStrict(doc, object); err != nil {
			t.Errorf("%s %s: %v", head.Kind, head.Metadata.Name, err)
		}
		all[head.Kind+" "+head.Metadata.Name] = object
	}
	return all
}

func find[T any](t *testing.T, all map[string]any, name string) T {
	t.Helper()
	object, is := all[name].(T)
	if !is {
		t.Fatalf("there is no %s", name)
	}
	return object
}

func TestKubernetesObjectsFitTogether(t *testing.T) {
	all := objects(t)
	if len(all) != 6 {
		t.Errorf("%d objects, want 6", len(all))
	}
	config := find[*corev1.ConfigMap](t, all, "ConfigMap weir")
	deployment := find[*appsv1.Deployment](t, all, "Deployment weir")
	scaler := find[*autoscalingv2.HorizontalPodAutoscaler](t, all, "HorizontalPodAutoscaler weir")
	budget := find[*policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget weir")
	pod := deployment.Spec.Template
	matches := func(what string, selector map[string]string) {
		if len(selector) == 0 {
			t.Errorf("%s selects everything", what)
		}
		for name, value := range selector {
			if pod.Labels[name] != value {
				t.Errorf("%s selects %s=%s, which the Pods do not have", what, name, value)
			}
		}
	}
	matches("the Deployment", deployment.Spec.Selector.MatchLabels)
	matches("the PodDisruptionBudget", budget.Spec.Selector.MatchLabels)
	if deployment.Spec.Replicas != nil {
		t.Error("the Deployment has replicas, which the HorizontalPodAutoscaler sets")
	}
	if ref := scaler.Spec.ScaleTargetRef; ref.Kind != "Deployment" || ref.Name != deployment.Name || ref.APIVersion != "apps/v1" {
		t.Errorf("the HorizontalPodAutoscaler scales %+v", ref)
	}
	if scaler.Spec.MinReplicas == nil || *scaler.Spec.MinReplicas < 2 || *scaler.Spec.MinReplicas >= scaler.Spec.MaxReplicas {
		t.Error("the HorizontalPodAutoscaler wants 2 replicas or more, and room above")
	}

	container := pod.Spec.Containers[0]
	ports := map[string]bool{}
	for _, p := range container.Ports {
		ports[p.Name] = true
	}
	for _, name := range []string{"weir", "weir-grpc"} {
		service := find[*corev1.Service](t, all, "Service "+name)
		matches("the Service "+name, service.Spec.Selector)
		for _, p := range service.Spec.Ports {
			if !ports[p.TargetPort.StrVal] {
				t.Errorf("the Service %s has the port %s, which the container does not have", name, p.TargetPort.StrVal)
			}
		}
	}
	for name, probe := range map[string]*corev1.Probe{"startup": container.StartupProbe, "liveness": container.LivenessProbe, "readiness": container.ReadinessProbe} {
		want := map[bool]string{true: "/readyz", false: "/healthz"}[name == "readiness"]
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != want || !ports[probe.HTTPGet.Port.StrVal] {
			t.Errorf("the %s probe is %+v, want %s", name, probe, want)
		}
	}
	if container.Resources.Requests.Cpu().IsZero() {
		t.Error("the HorizontalPodAutoscaler needs a request for cpu")
	}
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.Name != config.Name {
			t.Errorf("the volume %s is of the ConfigMap %s, which is not there", v.Name, v.ConfigMap.Name)
		}
		if !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == v.Name && m.ReadOnly && m.SubPath == "" // a subPath never sees a change
		}) {
			t.Errorf("the volume %s is not mounted whole and read-only", v.Name)
		}
	}
	if _, there := config.Data["policy.yaml"]; !there {
		t.Error("the ConfigMap has no policy")
	}
}

func TestPodsHaveNoRights(t *testing.T) {
	pod := find[*appsv1.Deployment](t, objects(t), "Deployment weir").Spec.Template.Spec
	container := pod.Containers[0]
	is := func(b *bool, want bool) bool { return b != nil && *b == want }
	if s := pod.SecurityContext; s == nil || !is(s.RunAsNonRoot, true) || s.RunAsUser == nil || *s.RunAsUser == 0 || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("security of the Pod: %+v", s)
	}
	if s := container.SecurityContext; s == nil || !is(s.AllowPrivilegeEscalation, false) || !is(s.ReadOnlyRootFilesystem, true) || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
		t.Errorf("security of the container: %+v", s)
	}
	if !is(pod.AutomountServiceAccountToken, false) {
		t.Error("the Pods get a token of the cluster")
	}
}

// TestPodsHaveTheTimeToStop compares what Kubernetes waits with what the service takes.
func TestPodsHaveTheTimeToStop(t *testing.T) {
	all := objects(t)
	pod := find[*appsv1.Deployment](t, all, "Deployment weir").Spec.Template.Spec
	var config struct {
		Shutdown struct{ Drain, Timeout time.Duration }
	}
	if err := yaml.Unmarshal([]byte(find[*corev1.ConfigMap](t, all, "ConfigMap weir").Data["weir.yaml"]), &config); err != nil {
		t.Fatal(err)
	}
	stop := pod.Containers[0].Lifecycle.PreStop
	if stop == nil || stop.Sleep == nil || stop.Sleep.Seconds < 1 {
		t.Fatalf("preStop is %+v, want a sleep", stop)
	}
	needs := time.Duration(stop.Sleep.Seconds)*time.Second + config.Shutdown.Drain + config.Shutdown.Timeout
	if config.Shutdown.Timeout == 0 || pod.TerminationGracePeriodSeconds == nil || time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second <= needs {
		t.Errorf("Kubernetes waits %v s, and the service needs %v", pod.TerminationGracePeriodSeconds, needs)
	}
}

func TestDeployIsReadStrictly(t *testing.T) {
	text, err := os.ReadFile(kubernetesFile)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(text), "readinessProbe:", "readynessProbe:", 1)
	_, doc, _ := strings.Cut(wrong, "\n---\n")
	doc, _, _ = strings.Cut(doc, "\n---\n")
	if err := strict.UnmarshalStrict([]byte(doc), &appsv1.Deployment{}); err == nil {
		t.Error("a field that Kubernetes does not have was read")
	}
}
