package sdk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

func TestMain(m *testing.M) {
	embedded.Main()
	os.Exit(m.Run())
}

// keyText is a key file whose secret is known.
var keyText = "tenant default\nkey k0123456789 2026-01-01T00:00:00Z " + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("s"), 32)) + "\n"

// node runs a program of testdata with the SDK, as a user who has installed it.
func node(t testing.TB, stdin, program string, args ...string) []byte {
	t.Helper()
	out, err := tryNode(t, stdin, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryNode(t testing.TB, stdin, program string, args ...string) ([]byte, error) {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", program))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, program), text, 0o600)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "node_modules", "@ctxledger", "sdk"), os.DirFS("typescript"))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, path, append([]string{program}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stderr, cmd.WaitDelay = dir, strings.NewReader(stdin), &stderr, time.Second
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("node %s: %w\n%s", program, err, &stderr)
	}
	return out, nil
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

// TestTypeScriptRecordsASession records a session with every helper. The stream has all facts
// in the order of the sequences, and the withheld value is nowhere.
func TestTypeScriptRecordsASession(t *testing.T) {
	t.Parallel()
	embeddedtest.Smoke(t)
	bus, server := start(t)
	out := node(t, "", "session.mjs", server.URL, keyText)
	checkSession(t, bus, out)
}

func checkSession(t *testing.T, bus *bustest.Bus, out []byte) {
	t.Helper()
	said := decode[struct {
		Receipt struct {
			Stored    string
			Sequences [][2]int64
		}
		Stored, Queued int
		Refused        []any
		Masked, Source string
	}](t, out)
	events := bus.Events(t)
	if said.Receipt.Stored != "stream" || said.Stored != len(events) || len(said.Refused) > 0 || said.Masked != "KEY=[redacted]" || said.Queued != 0 {
		t.Fatalf("%s, and the stream has %d events", out, len(events))
	}
	want := []string{
		"scope.opened", "item.added", "log.appended", "item.added", "log.appended", "redaction.applied", "redaction.applied", "item.added", "log.appended",
		"missing.detected", "missing.requested", "surface.created", "selection.completed", "assembly.created", "injection.applied", "usage.recorded",
		"compaction.started", "compaction.completed", "missing.resolved", "scope.opened", "item.added", "log.appended", "envelope.created",
	}
	key, err := schema.ParseKeyRing([]byte(keyText))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for i, e := range events {
		types = append(types, strings.TrimPrefix(string(e.EventType()), "context."))
		fact, found := schema.Validate(e)
		if len(found) > 0 || e.Sequence == nil || *e.Sequence != int64(i+1) || e.Source != said.Source || e.RuntimeID != "ts" || e.PartitionKey != e.SessionID {
			t.Errorf("event %d: %v %v", i, found, e.Attributes())
		}
		if strings.Contains(string(e.Data), "0123456789abcdef") {
			t.Errorf("event %d has the withheld value: %s", i, e.Data)
		}
		switch f := fact.(type) {
		case *schema.ItemAdded:
			if f.ItemID == "u1" && f.ContentDigest != key.Current().Digest([]byte("Fix ünicode.")) {
				t.Errorf("the digest is %s", f.ContentDigest)
			}
			if f.ItemID == "env" && (f.RedactionState != schema.RedactionMasked || f.Title != "env with [redacted]" || e.ToolCallID != "tc-1") {
				t.Errorf("the masked item is %s", e.Data)
			}
		case *schema.EnvelopeCreated:
			if !reflect.DeepEqual(f.Sequences[0].Ranges, said.Receipt.Sequences) || len(f.ItemRefs) != 3 || len(f.MissingContextRefs) != 1 || f.ContextID != e.ContextID {
				t.Errorf("the seal is %s", e.Data)
			}
		}
	}
	if !reflect.DeepEqual(types, want) {
		t.Errorf("the facts are %v", types)
	}
}

// TestTypeScriptVectors compares ids, digests and fingerprints with Go's.
func TestTypeScriptVectors(t *testing.T) {
	t.Parallel()
	input, want := vectors(t)
	got := decode[vectorSet](t, node(t, string(input), "vectors.mjs"))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the vectors are\n%+v\nwant\n%+v", got, want)
	}
}

type vectorSet struct {
	Buckets, IDs, Digests []string
	Fingerprints          []*schema.Fingerprint
}

// vectors returns the input of the shared vectors, and Go's results.
func vectors(t *testing.T) (input []byte, want vectorSet) {
	t.Helper()
	sessions := []string{"", "s-1", "Größe", "🧭 session", strings.Repeat("x", 3000)}
	identities := [][2]string{{"urn:ctxledger:runtime:bench-1:host-a", "0195565d-0001"}, {"ab", "c"}, {"a", "bc"}, {"", strings.Repeat("ü", 200)}}
	values := []string{"", "short", "sk-proj-0123456789", "Größe über alles", strings.Repeat("\u00ff", 8), "🧭🧭🧭"}
	input, err := json.Marshal(map[string]any{"key": keyText, "sessions": sessions, "events": identities, "values": values})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := schema.ParseKeyRing([]byte(keyText))
	if err != nil {
		t.Fatal(err)
	}
	hasher, err := fingerprint.New(ring.Current())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		want.Buckets = append(want.Buckets, schema.Bucket(s))
	}
	for _, id := range identities {
		want.IDs = append(want.IDs, (&schema.Event{Source: id[0], ID: id[1]}).MessageID())
	}
	for _, v := range values {
		want.Digests = append(want.Digests, ring.Current().Digest([]byte(v)))
		var print *schema.Fingerprint
		if f, ok := hasher.Of([]byte(v)); ok {
			print = &f
		}
		want.Fingerprints = append(want.Fingerprints, print)
	}
	return input, want
}

// TestTypeScriptOutbox kills a process whose gateway is away. The next process sends what the
// outbox holds. A refused event is reported and disturbs no other event.
func TestTypeScriptOutbox(t *testing.T) {
	t.Parallel()
	bus, server := start(t)
	outbox := filepath.Join(t.TempDir(), "outbox")
	out, err := tryNode(t, "", "faults.mjs", "http://127.0.0.1:1", outbox, "700", "leave")
	if err == nil || string(out) != `{"stored":"outbox"}` {
		t.Fatalf("%s: %v", out, err)
	}
	out = node(t, "", "faults.mjs", server.URL, outbox, "5", "send")
	said := decode[struct {
		Done    bool
		Refused []struct {
			Type       string
			Violations []*schema.Violation
		}
	}](t, out)
	if !said.Done || len(said.Refused) != 2 || said.Refused[0].Violations[0].Code != schema.CodeRequired || said.Refused[0].Violations[0].Pointer != "/data/item_id" {
		t.Errorf("%s", out)
	}
	next := map[string]int64{"fault-leave": 1, "fault-send": 1}
	for _, e := range bus.Events(t) {
		if *e.Sequence == map[string]int64{"fault-leave": 702, "fault-send": 7}[e.SessionID] {
			t.Errorf("the refused event is in the stream: %s", e.Data)
		}
		if *e.Sequence < next[e.SessionID] {
			t.Errorf("%s: sequence %d comes after %d", e.SessionID, *e.Sequence, next[e.SessionID]-1)
		}
		next[e.SessionID] = *e.Sequence + 1
	}
	if next["fault-leave"] != 704 || next["fault-send"] != 9 {
		t.Errorf("the next sequences are %v", next)
	}
	if left, err := os.ReadDir(outbox); err != nil || len(left) > 0 {
		t.Errorf("the outbox holds %v, %v", left, err)
	}
}

// BenchmarkTypeScript measures the agent's time for a helper, and for a window of 200 items.
func BenchmarkTypeScript(b *testing.B) {
	_, server := start(b)
	for b.Loop() {
		took := decode[struct {
			Add    float64 `json:"add_ms"`
			Window float64 `json:"window_of_200_ms"`
		}](b, node(b, "", "cost.mjs", server.URL))
		b.ReportMetric(took.Add, "ms/add")
		b.ReportMetric(took.Window, "ms/window-of-200")
	}
}
