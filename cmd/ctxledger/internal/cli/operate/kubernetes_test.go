package operate_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// workload is what a node of Kubernetes reads of a rendered object.
type workload struct {
	Kind string
	Spec struct {
		Template struct {
			Metadata struct {
				Labels map[string]string
			}
			Spec struct {
				Containers []pod
				Volumes    []struct {
					Name   string
					Secret struct {
						SecretName string `yaml:"secretName"`
					}
				}
			}
		}
	}
}

type pod struct {
	Args    []string
	EnvFrom []struct {
		SecretRef struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
	StartupProbe   probe `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
}

type probe struct {
	HTTPGet struct {
		Path, Scheme string
		Headers      []struct{ Name, Value string } `yaml:"httpHeaders"`
	} `yaml:"httpGet"`
}

// renderedPods are the workloads that the chart renders, by their component. The tests of the chart
// keep the file equal to the chart.
func renderedPods(t *testing.T) map[string]workload {
	t.Helper()
	found := make(map[string]workload)
	decoder := yaml.NewDecoder(strings.NewReader(clitest.ReadRepository(t, "deploy", "kubernetes", "testdata", "all.yaml")), yaml.UseJSONUnmarshaler())
	for {
		var w workload
		switch err := decoder.Decode(&w); {
		case err == io.EOF:
			return found
		case err != nil:
			t.Fatal(err)
		}
		if w.Kind == "Deployment" || w.Kind == "Job" {
			found[w.Spec.Template.Metadata.Labels["app.kubernetes.io/component"]] = w
		}
	}
}

// TestPodsOfTheChart runs the commands of the chart's pods, as a node does, with secrets as files that
// only can be read: against real servers, until the probes of each pod are answered.
func TestPodsOfTheChart(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	servers := embeddedtest.Start(t)
	root := t.TempDir()
	environment := map[string]string{
		"ctxledger-nats-admin": "CTXLEDGER_NATS_URL=" + servers.NATSURL(), "ctxledger-nats-projector": "CTXLEDGER_NATS_URL=" + servers.NATSURL(),
		"ctxledger-nats-publisher": "CTXLEDGER_NATS_URL=" + servers.NATSURL(), "ctxledger-clickhouse-writer": "CTXLEDGER_CLICKHOUSE_DSN=" + servers.ClickHouseDSN(),
		"ctxledger-clickhouse-reader": "CTXLEDGER_CLICKHOUSE_DSN=" + servers.ReaderDSN(),
	}
	files := map[string]string{}
	for _, secret := range []string{"ctxledger-keys", "ctxledger-tokens", "ctxledger-tls"} {
		files[secret] = filepath.Join(root, secret)
	}
	if _, stderr, code := clitest.Run(t, "proof", "keygen", "--data", filepath.Join(root, "made")); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	if err := os.Rename(filepath.Join(root, "made", "keys"), files["ctxledger-keys"]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(files["ctxledger-keys"], ".lock")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := clitest.Run(t, "token", "create", "--file", filepath.Join(root, "tokens"), "--name", "ann", "--tenant", "default", "--role", "read"); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	for _, folder := range []string{files["ctxledger-tokens"], files["ctxledger-tls"]} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(root, "tokens"), filepath.Join(files["ctxledger-tokens"], "tokens")); err != nil {
		t.Fatal(err)
	}
	clitest.Certify(t, filepath.Join(files["ctxledger-tls"], "tls.crt"), filepath.Join(files["ctxledger-tls"], "tls.key"))
	for _, folder := range files {
		readOnly(t, folder)
	}

	pods := renderedPods(t)
	// begin starts a pod, and returns the address of its port on this machine.
	begin := func(part string) (*clitest.Program, string) {
		t.Helper()
		spec := pods[part].Spec.Template.Spec
		if len(spec.Containers) != 1 {
			t.Fatalf("%s has %d containers", part, len(spec.Containers))
		}
		c := spec.Containers[0]
		paths, address := []string{}, clitest.FreeAddress(t)
		data := filepath.Join(root, part)
		if err := os.Mkdir(data, 0o700); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		for _, mount := range c.VolumeMounts {
			for _, volume := range spec.Volumes {
				secret := volume.Secret.SecretName
				if volume.Name != mount.Name || secret == "" {
					continue
				}
				if files[secret] == "" {
					t.Fatalf("%s mounts the secret %s, which the documentation does not make", part, secret)
				}
				if at, inside := strings.CutPrefix(mount.MountPath, "/data/"); inside {
					if err := os.Symlink(files[secret], filepath.Join(data, at)); err != nil && !os.IsExist(err) {
						t.Fatal(err)
					}
				}
				paths = append(paths, mount.MountPath+"/", files[secret]+"/")
			}
		}
		args := slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool {
			return strings.HasPrefix(arg, "--reader=") // the servers here have no users of tenants
		})
		for i, arg := range args {
			args[i] = strings.NewReplacer(append(paths, "0.0.0.0:9464", address, "0.0.0.0:8443", address)...).Replace(arg)
		}
		p := clitest.Command(args...)
		p.Env = append(os.Environ(), "CTXLEDGER_DATA="+data)
		for _, from := range c.EnvFrom {
			if environment[from.SecretRef.Name] == "" {
				t.Fatalf("%s reads the secret %s, which the documentation does not make", part, from.SecretRef.Name)
			}
			p.Env = append(p.Env, environment[from.SecretRef.Name])
		}
		return p.Begin(t), address
	}

	early, _ := begin("projector")
	if code := early.Code(t, clitest.StartPatience); code != cli.ExitFailed || !strings.Contains(early.Messages.String(), "ctxledger migrate") {
		t.Errorf("a projector before the job ended with %d: %s", code, &early.Messages)
	}
	job, _ := begin("migrate")
	if code := job.Code(t, clitest.StartPatience); code != cli.ExitDone {
		t.Fatalf("the job ended with %d: %s", code, &job.Messages)
	}
	for _, part := range []string{"projector", "serve"} {
		p, address := begin(part)
		c := pods[part].Spec.Template.Spec.Containers[0]
		for _, probe := range []probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			get := probe.HTTPGet
			scheme := strings.ToLower(get.Scheme)
			if scheme == "" {
				scheme = "http"
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+address+get.Path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, header := range get.Headers {
				request.Host = header.Value
			}
			// A node does not verify the certificate of a pod.
			client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
			status := 0
			for end := time.Now().Add(clitest.StartPatience); status != http.StatusOK; time.Sleep(50 * time.Millisecond) {
				if response, err := client.Do(request); err == nil {
					status = response.StatusCode
					response.Body.Close()
				}
				if p.Ended() || time.Now().After(end) {
					t.Fatalf("%s answers its probe %s with %d: %s", part, get.Path, status, &p.Messages)
				}
			}
		}
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := p.Code(t, clitest.StartPatience); code != cli.ExitDone {
			t.Errorf("%s ended with %d: %s", part, code, &p.Messages)
		}
	}
	for _, folder := range files {
		if entries, err := os.ReadDir(folder); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) {
			t.Errorf("a pod wrote into a secret: %v, %v", entries, err)
		}
	}
}

// readOnly makes a folder and its files readable by their owner alone, and nothing else.
func readOnly(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Chmod(filepath.Join(folder, e.Name()), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
}
