package serve_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/connect"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// TestConnect tries what `ctxledger connect` prints, on a data folder that a shell has to
// quote.
func TestConnect(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "it's my ledger")
	clitest.Up(t, data)
	found, err := embedded.Find(data)
	if err != nil {
		t.Fatal(err)
	}
	c := connection{data: data, found: found, bin: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(c.bin, "ctxledger")); err != nil {
		t.Fatal(err)
	}
	t.Run("secrets", c.testSecrets)
	t.Run("env", c.testEnv)
	t.Run("nats", c.testNATS)
	t.Run("shell", c.testShellLines)
	t.Run("go", c.testGo)
	t.Run("grafana", c.testGrafana)
	t.Run("examples", c.testExamples)
}

// connection is a running instance and a folder with `ctxledger` in it.
type connection struct {
	data, bin string
	found     embedded.Addresses
}

func (c connection) print(t *testing.T, args ...string) string {
	t.Helper()
	out, stderr, code := clitest.Run(t, slices.Concat([]string{"connect", "--data", c.data}, args)...)
	if code != cli.ExitDone || stderr != "" {
		t.Fatalf("connect %v ended with %d: %s", args, code, stderr)
	}
	return out
}

// shell runs a script of a POSIX shell with `ctxledger` on the PATH.
func (c connection) shell(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+c.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out)
}

// line returns the line of text that begins with the prefix.
func line(t *testing.T, text, prefix string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, prefix) {
			return l
		}
	}
	t.Fatalf("no line begins with %q:\n%s", prefix, text)
	return ""
}

func (c connection) testSecrets(t *testing.T) {
	reader, writer, bus := clitest.Password(t, c.found.ReaderDSN), clitest.Password(t, c.found.ClickHouseDSN), clitest.Password(t, c.found.NATSURL)
	for topic, shown := range map[string][]string{
		"": {reader, bus}, "nats": {bus}, "clickhouse": {reader}, "env": {reader, bus}, "grafana": {reader},
	} {
		for _, output := range []string{"table", "json"} {
			args := slices.DeleteFunc([]string{topic, "-o", output}, func(s string) bool { return s == "" })
			text := c.print(t, args...)
			for _, secret := range []string{reader, writer, bus} {
				if strings.Contains(text, secret) {
					t.Errorf("connect %v prints a password:\n%s", args, text)
				}
			}
			if strings.Contains(text, "no value") || strings.Contains(text, "{{") {
				t.Errorf("connect %v prints\n%s", args, text)
			}
			text = c.print(t, append(args, "--show-secrets")...)
			for _, secret := range shown {
				if !strings.Contains(text, secret) {
					t.Errorf("connect %v --show-secrets does not print a password:\n%s", args, text)
				}
			}
			if strings.Contains(text, writer) {
				t.Errorf("connect %v --show-secrets prints the writer's password", args)
			}
		}
	}
}

// testEnv: the printed lines make other commands find the instance, and do not keep `up`
// from starting it again.
func (c connection) testEnv(t *testing.T) {
	script := `eval "$(ctxledger connect env --data ` + ui.ShellQuote(c.data) + `)"` + "\n"
	if out := c.shell(t, script+"ctxledger doctor"); !strings.Contains(out, "clickhouse  version") || !strings.Contains(out, "level with the stream") {
		t.Errorf("doctor prints\n%s", out)
	}
	if out := c.shell(t, script+"ctxledger connect"); out != c.print(t) {
		t.Errorf("connect prints\n%s", out)
	}
	files := embedded.ClientFilesOf(c.data)
	second := clitest.Command("up")
	second.Env = append(os.Environ(), "CTXLEDGER_DATA="+c.data, "CTXLEDGER_NATS_URL_FILE="+files.NATSURL, "CTXLEDGER_CLICKHOUSE_DSN_FILE="+files.ReaderDSN)
	second.Begin(t)
	if code := second.Code(t, 20*time.Second); code != cli.ExitFailed || !strings.Contains(second.Messages.String(), "another ctxledger") {
		t.Errorf("up does not take the folder for its own; it ended with %d: %s", code, &second.Messages)
	}
}

func (c connection) testNATS(t *testing.T) {
	var place struct {
		URL          string `json:"url"`
		User         string `json:"user"`
		URLFile      string `json:"url_file"`
		PasswordFile string `json:"password_file"`
	}
	if err := json.Unmarshal([]byte(c.print(t, "nats", "-o", "json")), &place); err != nil {
		t.Fatal(err)
	}
	address, err := os.ReadFile(place.URLFile)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(place.PasswordFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, dial := range map[string]func() (*nats.Conn, error){
		"the URL file":      func() (*nats.Conn, error) { return nats.Connect(string(address)) },
		"the password file": func() (*nats.Conn, error) { return nats.Connect(place.URL, nats.UserInfo(place.User, string(secret))) },
	} {
		nc, err := dial()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		nc.Close()
	}
}

// testShellLines: curl gets an answer, and the other clients get the password in their
// environment, never in their arguments.
func (c connection) testShellLines(t *testing.T) {
	text := c.print(t, "clickhouse")
	if _, err := exec.LookPath("curl"); err == nil {
		if out := c.shell(t, line(t, text, "printf ")); strings.TrimSpace(out) != "0" {
			t.Errorf("curl prints %q", out)
		}
	}
	for client, secret := range map[string]struct{ line, variable, password string }{
		"clickhouse-client": {line(t, text, "CLICKHOUSE_PASSWORD="), "CLICKHOUSE_PASSWORD", clitest.Password(t, c.found.ReaderDSN)},
		"nats":              {line(t, c.print(t, "nats"), "NATS_PASSWORD="), "NATS_PASSWORD", clitest.Password(t, c.found.NATSURL)},
	} {
		program := "#!/bin/sh\necho \"$" + secret.variable + "\" \"$@\"\n"
		if err := os.WriteFile(filepath.Join(c.bin, client), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
		given, arguments, _ := strings.Cut(c.shell(t, secret.line), " ")
		if given != secret.password || strings.Contains(arguments, secret.password) || !strings.Contains(arguments, " --user ") {
			t.Errorf("%s gets %q", secret.line, arguments)
		}
	}
}

// testGo compiles and runs the two programs in Go.
func (c connection) testGo(t *testing.T) {
	for topic, want := range map[string]string{"nats": "connected to nats://127.0.0.1:", "clickhouse": "0 sessions"} {
		m := regexp.MustCompile(`(?s)\nGo, with [^\n]*:\n\n(package main.*?)\nPython, with`).FindStringSubmatch(c.print(t, topic))
		if m == nil {
			t.Fatalf("connect %s has no program in Go", topic)
		}
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "run", file).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("the program for %s: %v\n%s", topic, err, out)
		}
		if formatted, err := exec.Command("gofmt", "-l", file).CombinedOutput(); err != nil || len(formatted) > 0 {
			t.Errorf("the program for %s is not formatted: %v %s", topic, err, formatted)
		}
	}
}

// testGrafana reads the provisioning file as Grafana does, and signs in with what it says.
func (c connection) testGrafana(t *testing.T) {
	type file struct {
		Datasources []struct {
			Type     string `yaml:"type"`
			JSONData struct {
				Host            string `yaml:"host"`
				Port            int    `yaml:"port"`
				Username        string `yaml:"username"`
				DefaultDatabase string `yaml:"defaultDatabase"`
			} `yaml:"jsonData"`
			SecureJSONData struct {
				Password string `yaml:"password"`
			} `yaml:"secureJsonData"`
		} `yaml:"datasources"`
	}
	var fromText, fromJSON file
	if err := yaml.Unmarshal([]byte(c.print(t, "grafana")), &fromText); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(c.print(t, "grafana", "-o", "json")), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(fromText) != fmt.Sprint(fromJSON) || len(fromText.Datasources) != 1 {
		t.Fatalf("the file is %+v, as JSON %+v", fromText, fromJSON)
	}
	source := fromText.Datasources[0]
	path, ok := strings.CutPrefix(strings.TrimSuffix(source.SecureJSONData.Password, "}"), "$__file{")
	secret, err := os.ReadFile(path)
	if err != nil || !ok {
		t.Fatalf("the password is %q: %v", source.SecureJSONData.Password, err)
	}
	conn, err := clickhouse.Open(&clickhouse.Options{
		Addr: []string{fmt.Sprintf("%s:%d", source.JSONData.Host, source.JSONData.Port)},
		Auth: clickhouse.Auth{Database: source.JSONData.DefaultDatabase, Username: source.JSONData.Username, Password: string(secret)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// testExamples runs the examples of the command's help.
func (c connection) testExamples(t *testing.T) {
	cmd := connect.Command(&cli.App{})
	if !strings.Contains(cmd.Example, "eval") {
		t.Error("the help does not show how env is used")
	}
	for example := range strings.Lines(cmd.Example) {
		c.shell(t, "export CTXLEDGER_DATA="+ui.ShellQuote(c.data)+"\n"+example)
	}
}
