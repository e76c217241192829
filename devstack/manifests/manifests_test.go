// Package manifests_test holds ops/kubernetes to Kubernetes' own types and KEDA's own
// schema, and to what Sluice's programs need.
package manifests_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const (
	manifests = "../../ops/kubernetes"
	keda      = "github.com/kedacore/keda/v2@v2.21.0"
)

// A document is one of a manifest's, as YAML.
type document struct {
	file, kind, name string
	raw              []byte
}

func documents(t *testing.T) (all []document) {
	t.Helper()
	files, err := filepath.Glob(manifests + "/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range regexp.MustCompile(`(?m)^---\n`).Split(string(raw), -1) {
			var head struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}
			require.NoError(t, yaml.Unmarshal([]byte(part), &head), file)
			if head.Kind != "Namespace" {
				require.Equal(t, "sluice", head.Metadata.Namespace, "%s: %s", file, head.Metadata.Name)
			}
			all = append(all, document{filepath.Base(file), head.Kind, head.Metadata.Name, []byte(part)})
		}
	}
	return all
}

// one reads the only document of a kind strictly.
func one[T any](t *testing.T, kind string) (v T) {
	t.Helper()
	found := 0
	for _, d := range documents(t) {
		if d.kind == kind {
			found++
			require.NoError(t, yaml.UnmarshalStrict(d.raw, &v))
		}
	}
	require.Equal(t, 1, found, kind)
	return v
}

// Every document is one that Kubernetes knows: no field is misspelt, or of another kind.
func TestManifestsAreOfKubernetesTypes(t *testing.T) {
	known := map[string]func() any{
		"Namespace": func() any { return &corev1.Namespace{} }, "ServiceAccount": func() any { return &corev1.ServiceAccount{} },
		"ConfigMap": func() any { return &corev1.ConfigMap{} }, "Secret": func() any { return &corev1.Secret{} },
		"Deployment": func() any { return &appsv1.Deployment{} }, "Job": func() any { return &batchv1.Job{} },
		"PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
	}
	resources := resourcesOfKEDA(t)
	for _, d := range documents(t) {
		if into := known[d.kind]; into != nil {
			require.NoError(t, yaml.UnmarshalStrict(d.raw, into()), "%s: %s", d.file, d.kind)
			require.Error(t, yaml.UnmarshalStrict(append([]byte("mispelt: 1\n"), d.raw...), into()), "a field that is none is refused")
			continue
		}
		schema := resources[d.kind]
		require.NotNil(t, schema, "%s: unknown kind %s", d.file, d.kind)
		require.NoError(t, schema.Validate(jsonOf(t, d.raw)), "%s: %s", d.file, d.name)
		wrong := strings.Replace(string(d.raw), "spec:\n", "spec:\n  mispelt: 1\n", 1)
		require.Error(t, schema.Validate(jsonOf(t, []byte(wrong))), "a field that is none is refused")
	}
}

func jsonOf(t *testing.T, raw []byte) any {
	t.Helper()
	text, err := yaml.YAMLToJSON(raw)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return v
}

// resourcesOfKEDA are the schemas of the definitions in KEDA's own release, by kind.
func resourcesOfKEDA(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", keda).Output()
	require.NoError(t, err, "%s", out)
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	all := map[string]*jsonschema.Schema{}
	for _, file := range []string{"keda.sh_scaledobjects.yaml", "keda.sh_triggerauthentications.yaml"} {
		raw, err := os.ReadFile(filepath.Join(module.Dir, "config/crd/bases", file))
		require.NoError(t, err)
		var definition struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(raw, &definition))
		require.Len(t, definition.Spec.Versions, 1)
		schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		closed(schema)
		compiler := jsonschema.NewCompiler()
		require.NoError(t, compiler.AddResource(file, any(schema)))
		all[definition.Spec.Names.Kind] = compiler.MustCompile(file)
	}
	return all
}

// closed refuses what a definition does not name, which the API server would drop in
// silence.
func closed(schema map[string]any) {
	properties, ok := schema["properties"].(map[string]any)
	if ok && schema["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] == nil {
		schema["additionalProperties"] = false
	}
	for name, p := range properties {
		if sub, ok := p.(map[string]any); ok && name != "metadata" {
			closed(sub)
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if sub, ok := schema[name].(map[string]any); ok {
			closed(sub)
		}
	}
}

func container(t *testing.T) (pod corev1.PodSpec, c corev1.Container) {
	t.Helper()
	pod = one[appsv1.Deployment](t, "Deployment").Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	return pod, pod.Containers[0]
}

// A pod has longer to end than the worker takes to leave its checkpoints, and none ends
// before its successor is ready.
func TestPodsEndAfterTheirCheckpoints(t *testing.T) {
	settings := one[corev1.ConfigMap](t, "ConfigMap").Data
	stop, err := time.ParseDuration(settings["SLUICE_STOP_TIMEOUT"])
	require.NoError(t, err)
	pod, _ := container(t)
	require.Greater(t, time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second, stop+5*time.Second)
	d := one[appsv1.Deployment](t, "Deployment")
	require.Zero(t, d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue())
	budget := one[policyv1.PodDisruptionBudget](t, "PodDisruptionBudget")
	require.Equal(t, d.Spec.Selector, budget.Spec.Selector)
	require.Equal(t, d.Spec.Selector.MatchLabels, map[string]string{"app.kubernetes.io/name": d.Spec.Template.Labels["app.kubernetes.io/name"]})
	require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
}

// Probes ask where the worker serves: only readiness depends on Temporal, so that an
// outage restarts nobody.
func TestProbesAskWhatTheWorkerServes(t *testing.T) {
	_, c := container(t)
	_, port, found := strings.Cut(one[corev1.ConfigMap](t, "ConfigMap").Data["SLUICE_METRICS_ADDRESS"], ":")
	require.True(t, found)
	require.Equal(t, port, strconv.Itoa(int(c.Ports[0].ContainerPort)))
	require.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path)
	require.Equal(t, "/healthz", c.StartupProbe.HTTPGet.Path)
	require.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.StartupProbe, c.ReadinessProbe} {
		require.Equal(t, c.Ports[0].Name, p.HTTPGet.Port.String())
	}
}

// No program runs as root, may become it, or writes to its image; what is secret is in
// Secrets, and every one that is referred to is there.
func TestProgramsHaveNoMoreThanTheyNeed(t *testing.T) {
	secrets, settings := map[string]bool{}, one[corev1.ConfigMap](t, "ConfigMap")
	for _, d := range documents(t) {
		if d.kind == "Secret" {
			secrets[d.name] = true
		}
	}
	for name := range settings.Data {
		require.NotRegexp(t, `(?i)TOKEN|API_KEY|ENCRYPTION|CONNECTION_STRING|SECRET`, name)
	}
	deployed, _ := container(t)
	for _, pod := range []corev1.PodSpec{deployed, one[batchv1.Job](t, "Job").Spec.Template.Spec} {
		require.True(t, *pod.SecurityContext.RunAsNonRoot)
		c := pod.Containers[0]
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
		require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
		require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
		require.NotContains(t, c.Image, "latest")
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				require.True(t, secrets[from.SecretRef.Name], from.SecretRef.Name)
			}
			if from.ConfigMapRef != nil {
				require.Equal(t, settings.Name, from.ConfigMapRef.Name)
			}
		}
		for _, v := range pod.Volumes {
			require.True(t, secrets[v.Secret.SecretName], v.Secret.SecretName)
		}
	}
}

// The settings are ones that the worker has, or Temporal's and the clouds' own.
func TestSettingsAreTheWorkers(t *testing.T) {
	help := exec.CommandContext(t.Context(), "go", "run", "./worker", "--help")
	help.Dir = "../.."
	out, err := help.Output()
	require.NoError(t, err)
	for name := range one[corev1.ConfigMap](t, "ConfigMap").Data {
		if !strings.HasPrefix(name, "TEMPORAL_") && !strings.HasPrefix(name, "AWS_") {
			require.Contains(t, string(out), "$"+name, "the worker has no such setting")
		}
	}
	for _, m := range regexp.MustCompile(`SLUICE_[A-Z_]+`).FindAllString(readAll(t), -1) {
		if !strings.HasPrefix(m, "SLUICE_HTTP_AUTH_") {
			require.Contains(t, string(out), "$"+m, "the worker has no such setting")
		}
	}
}

func readAll(t *testing.T) string {
	var all strings.Builder
	for _, d := range documents(t) {
		all.Write(d.raw)
	}
	return all.String()
}
