package kubernetes

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the rendered files of testdata")

const namespace = "audit"

// render renders the chart as `helm template ledger ctxledger --namespace audit` does.
func render(values map[string]any) (string, []object, error) {
	chart, err := loader.Load("ctxledger")
	if err != nil {
		return "", nil, err
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "ledger", Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return "", nil, err
	}
	var text strings.Builder
	var objects []object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for document := range strings.SplitSeq(files[name], "\n---\n") {
			var o object
			if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
				return "", nil, fmt.Errorf("%s: %w\n%s", name, err, document)
			}
			if len(o) == 0 {
				continue
			}
			objects = append(objects, o)
			whole, err := yaml.Marshal(o)
			if err != nil {
				return "", nil, err
			}
			fmt.Fprintf(&text, "---\n%s", whole)
		}
	}
	return text.String(), objects, nil
}

// read reads a file of values.
func read(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

// settings are the values with which the chart is tested.
var settings = map[string]string{"default": "", "all": "testdata/all.values.yaml"}

func valuesOf(t *testing.T, file string) map[string]any {
	if file == "" {
		return map[string]any{}
	}
	return read(t, file)
}

func TestLint(t *testing.T) {
	for name, file := range settings {
		result := lint.RunAll("ctxledger", valuesOf(t, file), namespace)
		for _, message := range result.Messages {
			if message.Severity > support.InfoSev { // an icon is the only thing that is recommended
				t.Errorf("%s: %v", name, message)
			}
		}
	}
}

// TestRendered compares the rendered objects with the schemas of Kubernetes, and with the files of
// testdata, which the tests of the product read: it runs the commands of the pods.
func TestRendered(t *testing.T) {
	for name, file := range settings {
		text, objects, err := render(valuesOf(t, file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, o := range objects {
			if err := check(t, o); err != nil {
				t.Errorf("%s: %s: %v", name, o, err)
			}
		}
		path := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(want, []byte(text)) {
			t.Errorf("%s is not what the chart renders (%v): run `go test . -update`, and look at the change", path, err)
		}
	}
}

// TestSchemasFindFaults: the check of the test above can fail.
func TestSchemasFindFaults(t *testing.T) {
	for name, spoil := range map[string]func(o object){
		"a member that no schema has": func(o object) { o["spec"].(map[string]any)["replicaz"] = int64(2) },
		"a value of another type":     func(o object) { o["spec"].(map[string]any)["replicas"] = "2" },
		"a member that is missing":    func(o object) { delete(o["spec"].(map[string]any), "selector") },
		"an unknown kind":             func(o object) { o["kind"] = "Deploymint" },
		"an unknown group":            func(o object) { o["apiVersion"] = "app/v1" },
		"a member deep inside": func(o object) {
			o.at("spec", "template", "spec", "securityContext").(map[string]any)["runAsNoRoot"] = true
		},
	} {
		_, objects, err := render(nil)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(objects, func(o object) bool { return o["kind"] == "Deployment" })
		spoil(objects[at])
		if check(t, objects[at]) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestPods checks what all pods have in common, and what holds them together with the other objects.
func TestPods(t *testing.T) {
	for setting, file := range settings {
		_, objects, err := render(valuesOf(t, file))
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]any{} // of the pods, by component
		for _, o := range objects {
			if spec, ok := o.at("spec", "template", "spec").(map[string]any); ok {
				found := o.at("spec", "template", "metadata", "labels").(map[string]any)
				labels[found["app.kubernetes.io/component"].(string)] = found
				for _, fault := range podFaults(spec) {
					t.Errorf("%s: %s: %s", setting, o, fault)
				}
			}
		}
		for _, o := range objects {
			for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "podSelector", "matchLabels"}} {
				selector, ok := o.at(path...).(map[string]any)
				if !ok {
					continue
				}
				of, _ := labels[fmt.Sprint(selector["app.kubernetes.io/component"])].(map[string]any)
				for name, value := range selector {
					if of[name] != value {
						t.Errorf("%s: %s selects %s=%v, which no pod has", setting, o, name, value)
					}
				}
			}
		}
		for part := range labels {
			if !slices.ContainsFunc(objects, func(o object) bool {
				return o["kind"] == "NetworkPolicy" && o.at("spec", "podSelector", "matchLabels", "app.kubernetes.io/component") == part
			}) {
				t.Errorf("%s: %s has no network policy", setting, part)
			}
		}
	}
}

func podFaults(spec map[string]any) (faults []string) {
	want := func(ok bool, what string) {
		if !ok {
			faults = append(faults, what)
		}
	}
	o := object(spec)
	want(o["automountServiceAccountToken"] == false, "it has a token of the cluster")
	want(o.at("securityContext", "runAsNonRoot") == true, "it may run as root")
	want(o.at("securityContext", "seccompProfile", "type") == "RuntimeDefault", "it has no seccomp profile")
	volumes := map[string]bool{}
	for _, volume := range spec["volumes"].([]any) {
		volumes[volume.(map[string]any)["name"].(string)] = true
	}
	for _, container := range spec["containers"].([]any) {
		c := object(container.(map[string]any))
		want(c.at("securityContext", "readOnlyRootFilesystem") == true, "its files can be written")
		want(c.at("securityContext", "allowPrivilegeEscalation") == false, "it may gain rights")
		want(fmt.Sprint(c.at("securityContext", "capabilities", "drop")) == "[ALL]", "it keeps capabilities")
		want(c.at("resources", "limits", "memory") != nil && c.at("resources", "requests", "cpu") != nil, "it has no resources")
		want(!strings.HasSuffix(fmt.Sprint(c["image"]), ":"), "its image has no tag")
		for _, mount := range c["volumeMounts"].([]any) {
			name := mount.(map[string]any)["name"].(string)
			want(volumes[name], "it mounts "+name+", which is no volume")
		}
		for _, member := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
			want(spec["restartPolicy"] == "OnFailure" || c[member] != nil, "it has no "+member)
		}
		for _, from := range c["envFrom"].([]any) {
			want(object(from.(map[string]any)).at("secretRef", "name") != nil, "its environment has no secret")
		}
	}
	return faults
}

// TestJobOfAnotherImage: a job cannot be changed, so that another image makes another one, and the same
// values the same.
func TestJobOfAnotherImage(t *testing.T) {
	job := func(values map[string]any) any {
		_, objects, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(objects, func(o object) bool { return o["kind"] == "Job" })
		return objects[at].metadata()["name"]
	}
	first := job(nil)
	if again := job(map[string]any{"projector": map[string]any{"replicas": 3}}); again != first {
		t.Errorf("another job %v next to %v, though nothing of it changed", again, first)
	}
	if other := job(map[string]any{"image": map[string]any{"tag": "v2"}}); other == first {
		t.Errorf("the job %v has another image", other)
	}
}

// TestRefusesValues: wrong values end with an error that names them, before anything is installed.
func TestRefusesValues(t *testing.T) {
	for text, want := range map[string]string{
		"projecter: {replicas: 2}":                            "projecter",
		"projector: {replica: 2}":                             "replica",
		"projector: {replicas: 0}":                            "replicas",
		"projector: {replicas: two}":                          "replicas",
		"migrate: {partitions: 12}":                           "partitions",
		"migrate: {replicas: 2}":                              "replicas",
		"projector: {keysSecret: \"\"}":                       "keysSecret",
		"projector: {linger: fast}":                           "linger",
		"serve: {enabled: \"yes\"}":                           "enabled",
		"image: {digest: latest}":                             "digest",
		"networkPolicy: {nats: {port: 70000}}":                "port",
		"serve: {secrets: ctxledger-nats}":                    "secrets",
		"migrate: {readers: [\"acme --partitions=1\"]}":       "readers",
		"projector: {logLevel: LOUD}":                         "logLevel",
		"projector: {resources: {request: {memory: 1Gi}}}":    "request",
		"projector: {autoscaling: {enabled: true, max: 3}}":   "max",
		"serve: {hosts: [\"a.example --insecure\"]}":          "hosts",
		"networkPolicy: {clickhouse: {port: 9000, peer: []}}": "peer",
	} {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		if _, _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", text, err, want)
		}
	}
}
