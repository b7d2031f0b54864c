package realclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// runTimeout ends a client that does not finish.
const runTimeout = 90 * time.Second

// Client is a program with a home folder and a work folder of its own.
type Client struct {
	Program string
	Version string
	Home    string   // empty at the start; a resumed session needs the same home
	Dir     string   // the folder that the agent works in
	Env     []string // all variables of the program, as NAME=value; later ones win
	logs    string   // folder below Home
}

// ClaudeCode returns Claude Code, with baseURL as the address of its provider.
func ClaudeCode(t testing.TB, baseURL string) *Client {
	t.Helper()
	c := newClient(t, claudePins[platform()], filepath.Join(".claude", "projects"))
	c.Env = append(c.Env,
		"ANTHROPIC_BASE_URL="+baseURL, "ANTHROPIC_API_KEY=no-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1")
	return c
}

// KeepBodies lets Claude Code keep the bodies of its requests and responses, and returns the path
// of their index. Its telemetry goes to endpoint.
func (c *Client) KeepBodies(t testing.TB, endpoint string) (index string) {
	t.Helper()
	folder := t.TempDir()
	c.Env = append(c.Env, "CLAUDE_CODE_ENABLE_TELEMETRY=1", "OTEL_LOGS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_LOG_RAW_API_BODIES=file:"+folder)
	return filepath.Join(folder, "index.jsonl")
}

// Codex returns Codex, with baseURL/v1 as the address of its provider.
func Codex(t testing.TB, baseURL string) *Client {
	t.Helper()
	c := newClient(t, codexPins[platform()], filepath.Join(".codex", "sessions"))
	c.Env = append(c.Env, "SCRIPTED_KEY=no-key", "CODEX_HOME="+filepath.Join(c.Home, ".codex"))
	config := fmt.Sprintf(`model = "gpt-5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = %q
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`, baseURL+"/v1")
	if err := errors.Join(os.MkdirAll(filepath.Join(c.Home, ".codex"), 0o755),
		os.WriteFile(filepath.Join(c.Home, ".codex", "config.toml"), []byte(config), 0o644)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Tell lets Codex send its log events to endpoint, as JSON.
func (c *Client) Tell(t testing.TB, endpoint string) {
	t.Helper()
	path := filepath.Join(c.Home, ".codex", "config.toml")
	text, err := os.ReadFile(path)
	if err == nil {
		text = fmt.Appendf(text, "\n[otel]\nexporter = { otlp-http = { endpoint = %q, protocol = \"json\" } }\n", endpoint)
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// CodexOfOpenAI returns Codex with its own provider. It reaches the host api.openai.com by the
// proxy, whose authority has the certificate in the file.
func CodexOfOpenAI(t testing.TB, proxy, certificate string) *Client {
	t.Helper()
	c := newClient(t, codexPins[platform()], filepath.Join(".codex", "sessions"))
	c.Env = append(c.Env, "CODEX_API_KEY=sk-no-key", "CODEX_HOME="+filepath.Join(c.Home, ".codex"), "HTTPS_PROXY="+proxy, "SSL_CERT_FILE="+certificate)
	const config = "model = \"gpt-5\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"
	if err := errors.Join(os.MkdirAll(filepath.Join(c.Home, ".codex"), 0o755),
		os.WriteFile(filepath.Join(c.Home, ".codex", "config.toml"), []byte(config), 0o644)); err != nil {
		t.Fatal(err)
	}
	return c
}

func newClient(t testing.TB, p pin, logs string) *Client {
	t.Helper()
	if p.name == "" {
		t.Skipf("no pinned client for %s", platform())
	}
	program := fetched(t, p.fetch)
	home, dir := t.TempDir(), t.TempDir()
	return &Client{
		Program: program, Version: p.version, Home: home, Dir: dir, logs: logs,
		Env: []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=" + t.TempDir()},
	}
}

// fetched returns the path that fetch returns for the cache. It skips the test unless real
// clients are asked for.
func fetched(t testing.TB, fetch func(ctx context.Context, cache string) (string, error)) string {
	t.Helper()
	required := os.Getenv("CI") == "true"
	if testing.Short() {
		t.Skip("runs a real client: run without -short")
	}
	if !required && os.Getenv("CTXLEDGER_CLIENTS") == "" {
		t.Skip("runs a real client: set CTXLEDGER_CLIENTS=1 to fetch it and run this test")
	}
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path, err := fetch(t.Context(), cache)
	switch {
	case err != nil && required:
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	return path
}

// Run runs the program to its end and returns its standard output. An exit code other than 0
// fails the test.
func (c *Client) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.Try(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try is Run for a program that may fail. The error holds the end of both outputs.
func (c *Client) Try(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Program, args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("run %s: %w\n%s\n%s", filepath.Base(c.Program), err, lastBytes(stdout.String()), lastBytes(stderr.String()))
	}
	return stdout.String(), nil
}

func lastBytes(s string) string { return s[max(0, len(s)-4096):] }

// Logs returns the paths of the session logs that the program wrote, in sorted order.
func (c *Client) Logs(t testing.TB) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(c.Home, c.logs), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}
