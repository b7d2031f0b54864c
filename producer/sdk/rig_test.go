package sdk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	bustest.ServeVictim(func(js jetstream.JetStream) (http.Handler, error) {
		config := gateway.DefaultConfig(js)
		config.StoreTimeout = time.Second
		return gateway.New(config)
	})
	os.Exit(m.Run())
}

// keyText is a key file whose secret is known.
var keyText = "tenant default\nkey k0123456789 2026-01-01T00:00:00Z " + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("s"), 32)) + "\n"

// language is an SDK under test.
type language struct{ name, interpreter, ending, from, to string }

// languages are the SDKs, each with the folder in which a user's program finds it.
var languages = []language{
	{"TypeScript", "node", ".mjs", "typescript", filepath.Join("node_modules", "@ctxledger", "sdk")},
	{"Python", "python3", ".py", filepath.Join("python", "ctxledger"), "ctxledger"},
}

// each runs a test for each SDK.
func each(t *testing.T, test func(*testing.T, language)) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// run runs a program of testdata with the SDK, as a user who has installed it.
func (l language) run(t testing.TB, stdin, program string, args ...string) []byte {
	t.Helper()
	out, err := l.try(t, strings.NewReader(stdin), program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (l language) try(t testing.TB, stdin io.Reader, program string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := l.command(t, program, args...)
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s", program+l.ending, err, &stderr)
	}
	return out, nil
}

// giveUp skips the test where a part of it is absent, and fails it in CI.
func giveUp(t testing.TB, why error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// command is a program of testdata in a folder of its own.
func (l language) command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(l.interpreter)
	if err != nil {
		giveUp(t, err)
	}
	dir, program := t.TempDir(), program+l.ending
	text, err := os.ReadFile(filepath.Join("testdata", program))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, program), text, 0o600)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, l.to), os.DirFS(l.from))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, append([]string{program}, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	return cmd
}

// start runs a gateway with a stream behind a real HTTP server.
func start(t testing.TB) (*bustest.Bus, *httptest.Server) {
	t.Helper()
	bus := bustest.Start(t)
	handler, err := gateway.New(gateway.DefaultConfig(bus.JS))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return bus, server
}

func decode[T any](t testing.TB, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}
