package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ctxledger/ctxledger/deploy"
)

// composeFile holds the tested parts of compose.yaml.
type composeFile struct {
	Services map[string]struct {
		Image, Restart string
		EnvFile        []string `yaml:"env_file"`
		Volumes        []string
		Command        []string
		DependsOn      map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck    struct{ Test []string }
	}
	Volumes map[string]any
}

// TestCompose compares the names in compose.yaml with the files of `ctxledger deploy`.
func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, s := range []deploy.Server{deploy.NATS(), deploy.ClickHouse()} {
		if _, err := s.Write(dir, "h", "acme"); err != nil {
			t.Fatal(err)
		}
	}
	there := func(path string) {
		path = strings.NewReplacer("${CTXLEDGER_NODE:?the folder of ctxledger deploy}", dir, "${CTXLEDGER_NODE}", dir).Replace(path)
		if _, err := os.Stat(path); err != nil || !filepath.IsAbs(path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(c.Services) != 4 {
		t.Errorf("%d services", len(c.Services))
	}
	for name, s := range c.Services {
		if s.Image == "" || s.Restart == "" || len(s.EnvFile) == 0 {
			t.Errorf("%s lacks an image, a restart policy or an environment: %+v", name, s)
		}
		for _, path := range s.EnvFile {
			there(path)
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, named := c.Volumes[source]; !named {
				there(source)
			}
		}
		for needed, how := range s.DependsOn {
			other, ok := c.Services[needed]
			if !ok || how.Condition == "service_healthy" && len(other.Healthcheck.Test) == 0 {
				t.Errorf("%s waits for %s, which cannot be", name, needed)
			}
		}
	}
	mod, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(c.Services["nats"].Image, "nats:")
	version, _, _ = strings.Cut(version, "-")
	if !strings.Contains(string(mod), "nats-server/v2 v"+version+"\n") {
		t.Errorf("the tests run another NATS than %s", version)
	}
}
