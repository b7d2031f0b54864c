package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The version of Kubernetes whose OpenAPI documents are the schemas, and its checksum.
const (
	apiVersion = "v1.37.0"
	apiSum     = "h1:TDSD+Izz9inqs7SmtJCAu7L5/DuYW9hAZ3GBdF6Ddkw="
)

// apiDocuments fetches the source of Kubernetes once, and returns the folder of its OpenAPI documents.
// Kubernetes cannot be a dependency of a module: its own requirements are only replaced.
var apiDocuments = sync.OnceValues(func() (string, error) {
	fetch := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+apiVersion)
	fetch.Dir = os.TempDir() // outside of a module
	out, err := fetch.Output()
	if err != nil {
		return "", fmt.Errorf("fetch the schemas of Kubernetes: %w\n%s", err, out)
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", err
	}
	if module.Sum != apiSum {
		return "", fmt.Errorf("the source of Kubernetes %s has the sum %s, not %s", apiVersion, module.Sum, apiSum)
	}
	return filepath.Join(module.Dir, "api", "openapi-spec", "v3"), nil
})

// An object is one rendered object of Kubernetes.
type object map[string]any

func (o object) String() string { return fmt.Sprint(o["kind"], " ", o.metadata()["name"]) }

func (o object) metadata() map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	return metadata
}

// at returns the value at a path of names.
func (o object) at(path ...string) any {
	var value any = map[string]any(o)
	for _, name := range path {
		next, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = next[name]
	}
	return value
}

// check compares an object with the schema of its kind. Members that the schema does not have are
// faults, because Kubernetes drops them without a word.
func check(t *testing.T, o object) error {
	t.Helper()
	folder, err := apiDocuments()
	if err != nil {
		t.Fatal(err)
	}
	group, version, grouped := strings.Cut(fmt.Sprint(o["apiVersion"]), "/")
	file := "api__" + group + "_openapi.json"
	if grouped {
		file = "apis__" + group + "__" + version + "_openapi.json"
	} else {
		group, version = "", group
	}
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return fmt.Errorf("%s is no kind of Kubernetes: %w", o, err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	schemas := document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for _, schema := range schemas {
		closed(schema)
	}
	for name, schema := range schemas {
		kinds, _ := schema.(map[string]any)["x-kubernetes-group-version-kind"].([]any)
		for _, kind := range kinds {
			if k := kind.(map[string]any); k["group"] != group || k["version"] != version || k["kind"] != o["kind"] {
				continue
			}
			compiler := jsonschema.NewCompiler()
			if err := compiler.AddResource("api.json", document); err != nil {
				t.Fatal(err)
			}
			compiled, err := compiler.Compile("api.json#/components/schemas/" + name)
			if err != nil {
				t.Fatal(err)
			}
			return compiled.Validate(map[string]any(o))
		}
	}
	return fmt.Errorf("%s is no kind of %s", o, file)
}

// closed makes a schema refuse members that it does not name.
func closed(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	properties, ok := s["properties"].(map[string]any)
	if _, open := s["additionalProperties"]; ok && !open && s["x-kubernetes-preserve-unknown-fields"] != true {
		s["additionalProperties"] = false
	}
	for _, property := range properties {
		closed(property)
	}
}
