package examples

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	code := m.Run()
	if installed.dir != "" {
		os.RemoveAll(installed.dir)
	}
	os.Exit(code)
}

// installed is the TypeScript example with its packages. The tests share its folder and remove it
// at the end.
var installed struct {
	sync.Once
	dir string
	err error
}

// typescript returns the folder of the installed example. Without npm or a network it skips the
// test. If CI is "true", it fails the test instead.
func typescript(t *testing.T) string {
	t.Helper()
	installed.Do(func() { installed.dir, installed.err = install() })
	if installed.err != nil && os.Getenv("CI") != "true" {
		t.Skip(installed.err)
	}
	if installed.err != nil {
		t.Fatal(installed.err)
	}
	return installed.dir
}

func install() (dir string, err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "ctxledger-example-"); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "contract.ts", "publish.ts", "vectors.ts"} {
		text, err := os.ReadFile(filepath.Join("typescript", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			return dir, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("npm install: %w\n%s", err, out)
	}
	return dir, nil
}

// runTypeScript runs a program of the example and returns what it printed.
func runTypeScript(t *testing.T, environment []string, program ...string) string {
	t.Helper()
	dir := typescript(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "tsx"), program...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), environment...), 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", program, err, out)
	}
	return string(out)
}

// An installation is a separate stream with separate tables on real servers, for one test.
type installation struct {
	url    string
	js     jetstream.JetStream
	ledger *ledger.Ledger
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	s := embeddedtest.Installation(t)
	js := s.JetStream(t)
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, err := shadow.Of(l).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &installation{s.NATSURL(), js, l}
}

func (i *installation) project(t *testing.T) projector.Status {
	t.Helper()
	c := projector.DefaultConfig(i.js, i.ledger)
	c.UntilCaughtUp, c.Linger = true, 20*time.Millisecond
	c.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	p, err := projector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return p.Status()
}

// rows returns the result of a query as text, with one line per row.
func (i *installation) rows(t *testing.T, sql string) []string {
	t.Helper()
	r, err := read.Of(i.ledger).Query(t.Context(), sql, nil, read.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list []string
	for r.Next() {
		list = append(list, fmt.Sprint(r.Values()...))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTypeScriptVectors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("installs TypeScript: run without -short")
	}
	file, err := filepath.Abs(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(runTypeScript(t, nil, "vectors.ts", file))
}

// TestTypeScriptPublishes runs the example in each mode, with a separate installation for each,
// and compares the facts.
func TestTypeScriptPublishes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs servers: run without -short")
	}
	typescript(t)
	digests := make(map[string][]string)
	for _, mode := range []string{"structured", "binary"} {
		in := newInstallation(t)
		environment := []string{"NATS_URL=" + in.url, "MODE=" + mode, "SESSION=s-ts-1", "TIME=2026-03-02T09:00:00.251Z"}
		if out := runTypeScript(t, environment, "publish.ts"); out != "context.item.added is number 1\ncontext.selection.completed is number 2\n" {
			t.Fatalf("%s: printed %q", mode, out)
		}
		if out := runTypeScript(t, environment, "publish.ts"); out != "context.item.added was there already\ncontext.selection.completed was there already\n" {
			t.Errorf("%s: the second run printed %q", mode, out)
		}
		in.wantMessages(t)
		if got, want := in.project(t), (projector.Status{Committed: 2, Events: 2}); got != want {
			t.Fatalf("%s: projected %+v, want %+v: %v", mode, got, want, in.rows(t, "SELECT * FROM quarantine"))
		}
		in.wantRows(t)
		digests[mode] = in.rows(t, "SELECT hex(digest) FROM events ORDER BY stream_seq")
	}
	if s, b := digests["structured"], digests["binary"]; len(s) != 2 || !reflect.DeepEqual(s, b) {
		t.Errorf("digests differ by mode:\n%v\n%v", s, b)
	}
}

// wantMessages compares the subject, the message id and the ce- headers of each message with the
// contract. The ledger accepts headers without percent-encoding, but the binding does not.
func (i *installation) wantMessages(t *testing.T) {
	t.Helper()
	stream, err := i.js.Stream(t.Context(), schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	for sequence := range uint64(2) {
		m, err := stream.GetMsg(t.Context(), sequence+1)
		if err != nil {
			t.Fatal(err)
		}
		e, err := schema.ParseMessage(m.Header, m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if _, found := schema.Validate(e); len(found) > 0 {
			t.Fatal(found)
		}
		if got, want := m.Subject, schema.SubjectOf(e).String(); got != want {
			t.Errorf("on subject %s, want %s", got, want)
		}
		if got, want := m.Header.Get(schema.MsgIDHeader), e.MessageID(); got != want {
			t.Errorf("message id %s, want %s", got, want)
		}
		if want := e.Binary().Header; m.Header["ce-id"] != nil {
			for name, values := range want {
				if name != "ce-datacontenttype" && !reflect.DeepEqual(m.Header[name], values) {
					t.Errorf("header %s is %q, want %q", name, m.Header[name], values)
				}
			}
		}
	}
}

// wantRows queries the facts in the tables by the runtime's ids, as an analyst would.
func (i *installation) wantRows(t *testing.T) {
	t.Helper()
	const ids = "'|', tenant, '|', agent, '|', runtime_id, '|', session_id, '|', thread_id, '|', turn_id, '|', run_id, '|', context_id, '|', toString(sequence)"
	const head = "|acme|codeur n° 1|bench-ts|s-ts-1|thread-1|turn-1|run-1|ctx-turn-1|"
	for sql, want := range map[string]string{
		"SELECT concat(item_id, " + ids + ", '|', title, '|', toString(token_estimate), '|', layer) FROM items":                 "item-readme" + head + "1|README.md: “Über uns”|612|tool_results",
		"SELECT concat(record_id, " + ids + ", '|', toString(item_refs), toString(outcomes), toString(reasons)) FROM decisions": "sel-1" + head + "2|['item-readme','item-log']['selected','omitted']['','budget_limit']",
		"SELECT concat(toString(count()), ' ', toString(min(event_time)), ' ', any(source)) FROM events":                        "2 2026-03-02 09:00:00.251000000 urn:ctxledger:runtime:bench-ts:example",
	} {
		if got := strings.Join(i.rows(t, sql), "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", sql, got, want)
		}
	}
}
