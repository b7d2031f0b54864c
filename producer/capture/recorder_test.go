package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

func keys(t testing.TB) schema.KeyRing {
	t.Helper()
	ring, err := schema.KeyRing{Tenant: "default"}.Rotate(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// open returns a recorder whose events rec keeps.
func open(t testing.TB, rec publish.Transport, change ...func(*Config)) *Recorder {
	t.Helper()
	c := Config{Transport: rec, Instance: "test", Keys: keys(t)}
	for _, f := range change {
		f(&c)
	}
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.backlog.close)
	return r
}

// post taps one exchange and waits until it is recorded.
func post(t testing.TB, r *Recorder, body, answer string, change ...func(*http.Request)) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
	req.Header.Set("X-Claude-Code-Session-Id", "s1")
	for _, f := range change {
		f(req)
	}
	tap := r.Tap(req)
	tap.Sent([]byte(body))
	tap.Answered(200, http.Header{"Content-Type": {"application/json"}}, false)
	tap.Received([]byte(answer))
	tap.End()
	if err := r.Flush(t.Context()); err != nil && r.config.Transport.Err() == nil {
		t.Fatal(err)
	}
}

func message(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"type":"message","model":"m","content":[{"type":"text","text":%q}],"usage":{"input_tokens":5,"output_tokens":2}}`, id, text)
}

func windowOf(texts ...string) string {
	var list []string
	for _, text := range texts {
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	}
	return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
}

// dying is a transport whose process is killed at a call, before or after it took the messages.
type dying struct {
	*producertest.Recorder
	mu     sync.Mutex
	before bool
	after  bool
}

func (d *dying) Send(ctx context.Context, messages ...schema.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.before {
		panic("killed")
	}
	err := d.Recorder.Send(ctx, messages...)
	if d.after {
		panic("killed")
	}
	return err
}

// TestKill: a kill before or after the facts were taken, and a restart, lose no fact, add no
// item twice and give no id a second content.
func TestKill(t *testing.T) {
	t.Parallel()
	ring := keys(t)
	for seed := range uint64(12) {
		chance := rand.New(rand.NewPCG(seed, 1))
		rec, folder := new(producertest.Recorder), t.TempDir()
		texts, calls := []string{"hello"}, 20
		var d *dying
		var r *Recorder
		start := func() {
			d = &dying{Recorder: rec}
			r = open(t, d, func(c *Config) { c.Folder, c.Keys = folder, ring })
		}
		start()
		for call := range calls {
			texts = append(texts, fmt.Sprintf("message %d", call))
			d.mu.Lock()
			kind := chance.IntN(4)
			d.before, d.after = kind == 0, kind == 1
			d.mu.Unlock()
			post(t, r, windowOf(texts...), message(fmt.Sprintf("msg_%d", call), fmt.Sprintf("answer %d", call)), func(req *http.Request) {
				if seed%2 == 0 { // a session that no client names
					req.Header.Del("X-Claude-Code-Session-Id")
				}
			})
			if kind < 3 {
				start()
			}
		}
		events := make(map[string]producertest.Event)
		items, sequences := make(map[string]bool), make(map[int64]bool)
		for _, e := range rec.Events() {
			if old, again := events[e.Source+e.ID]; again {
				if !bytes.Equal(old.Data, e.Data) || !old.Time.Equal(e.Time) || *old.Sequence != *e.Sequence {
					t.Fatalf("seed %d: %s has two contents", seed, e.ID)
				}
				continue
			}
			events[e.Source+e.ID] = e
			if sequences[*e.Sequence] {
				t.Fatalf("seed %d: sequence %d is used twice", seed, *e.Sequence)
			}
			sequences[*e.Sequence] = true
			if item, ok := e.Fact.(*schema.ItemAdded); ok {
				if items[item.ItemID] {
					t.Fatalf("seed %d: %s is added twice", seed, item.ItemID)
				}
				items[item.ItemID] = true
			}
		}
		if n := len(rec.Events().Of(schema.TypeAssemblyCreated)); n < calls {
			t.Fatalf("seed %d: %d windows of %d calls", seed, n, calls)
		}
		if len(sequences) != len(events) || !sequences[int64(len(events))] {
			t.Fatalf("seed %d: the sequences have a hole", seed)
		}
	}
}

// TestLostState: a session whose state is lost continues with ids of their own.
func TestLostState(t *testing.T) {
	t.Parallel()
	rec, folder, ring := new(producertest.Recorder), t.TempDir(), keys(t)
	r := open(t, rec, func(c *Config) { c.Folder, c.Keys = folder, ring })
	post(t, r, windowOf("hello"), message("msg_1", "answer one"))
	last := int64(len(rec.Events()))
	for _, file := range glob(t, folder, "*.json") {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	marks := map[string]int64{publish.SequenceMark + " urn:ctxledger:capture:test s1": last}
	r = open(t, rec, func(c *Config) { c.Folder, c.Keys, c.Marks = folder, ring, marks })
	post(t, r, windowOf("hello", "more"), message("msg_2", "answer two"))
	ids := make(map[string]bool)
	for _, e := range rec.Events() {
		if ids[e.ID] {
			t.Fatalf("%s is used twice", e.ID)
		}
		ids[e.ID] = true
	}
	rec.Check(t)
}

func glob(t testing.TB, folder, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return files
}

// TestTransportAway: facts wait while the transport stores nothing, and a dropped exchange is
// a fact.
func TestTransportAway(t *testing.T) {
	t.Parallel()
	rec := new(producertest.Recorder)
	r := open(t, rec, func(c *Config) { c.Folder = t.TempDir() })
	rec.Fail(errors.New("away"))
	post(t, r, windowOf("one"), message("msg_1", "an answer"))
	rec.Fail(publish.ErrQueueFull)
	post(t, r, windowOf("one", "two"), message("msg_2", "an answer"))
	rec.Fail(nil)
	post(t, r, windowOf("one", "two", "three"), message("msg_3", "an answer"))
	if got := r.Counts(); got.Exchanges != 2 || got.Dropped != 1 {
		t.Errorf("%+v", got)
	}
	lost := rec.Events().Of(schema.TypeFactsDropped)
	if len(lost) != 1 || *lost[0].Fact.(*schema.FactsDropped).Count != 1 {
		t.Errorf("%d losses", len(lost))
	}
	rec.Check(t)
}

func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	b := backlog{most: 100, changed: make(chan struct{})}
	tap := func(n int) *Tap {
		t := new(Tap)
		t.sent.Write(make([]byte, n))
		return t
	}
	if !b.put(tap(1000)) || b.put(tap(60)) {
		t.Error("an empty backlog takes any exchange, and a full one none")
	}
	b.done()
	if !b.put(tap(10)) {
		t.Error("a backlog with room takes an exchange")
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	pack := map[string]func(string) string{
		"gzip": func(s string) string {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			_, _ = w.Write([]byte(s))
			_ = w.Close()
			return out.String()
		},
		"br": func(s string) string {
			var out bytes.Buffer
			w := brotli.NewWriter(&out)
			_, _ = w.Write([]byte(s))
			_ = w.Close()
			return out.String()
		},
		"zstd": func(s string) string {
			w, _ := zstd.NewWriter(nil)
			return string(w.EncodeAll([]byte(s), nil))
		},
	}
	for encoding, of := range pack {
		rec := new(producertest.Recorder)
		r := open(t, rec)
		req := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
		req.Header.Set("Content-Encoding", encoding)
		tap := r.Tap(req)
		tap.Sent([]byte(of(windowOf("hello"))))
		tap.Answered(200, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {encoding}}, false)
		tap.Received([]byte(of(message("msg_1", "an answer"))))
		tap.End()
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		u := rec.Events().Of(schema.TypeUsageRecorded)
		if len(u) != 1 || *u[0].Fact.(*schema.UsageRecorded).Usage.Output != 2 {
			t.Errorf("%s: %d calls", encoding, len(u))
		}
	}
}

// TestUnreadable: what is no request of the dialect is counted, and nothing else breaks.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	rec := new(producertest.Recorder)
	var log bytes.Buffer
	r := open(t, rec, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, body := range []string{"", "hunter2 is no JSON", "[]", `{"prompt":"hunter2"}`} {
		post(t, r, body, message("msg_1", "x"))
	}
	post(t, r, windowOf("a"), "cut in the mid")
	if got := r.Counts(); got.Unread != 4 || got.Exchanges != 1 {
		t.Errorf("%+v", got)
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Error("the log quotes a body")
	}
	if r.Tap(httptest.NewRequest(http.MethodGet, "/v1/models", nil)) != nil {
		t.Error("a request without a window has a tap")
	}
}

// TestProviderEdits: the edits that a provider applied to a window are part of the call.
func TestProviderEdits(t *testing.T) {
	t.Parallel()
	rec := new(producertest.Recorder)
	r := open(t, rec)
	answer := strings.Replace(message("msg_1", "an answer"), "{", `{"context_management":{"applied_edits":[{"type":"clear_thinking_20251015","cleared_thinking_turns":2}]},`, 1)
	post(t, r, windowOf("hello"), answer)
	u := rec.Events().Of(schema.TypeUsageRecorded)[0].Fact.(*schema.UsageRecorded)
	edits, _ := u.Metadata["provider_edits"].([]any)
	if len(edits) != 1 || fmt.Sprint(edits[0]) != "map[cleared_thinking_turns:2 type:clear_thinking_20251015]" {
		t.Errorf("%v", u.Metadata)
	}
	rec.Check(t)
}

// TestSessionsWithoutName: a conversation that no client names stays one session, also after a
// restart.
func TestSessionsWithoutName(t *testing.T) {
	t.Parallel()
	rec, folder, ring := new(producertest.Recorder), t.TempDir(), keys(t)
	unnamed := func(req *http.Request) { req.Header.Del("X-Claude-Code-Session-Id") }
	start := func() *Recorder { return open(t, rec, func(c *Config) { c.Folder, c.Keys = folder, ring }) }
	r := start()
	post(t, r, windowOf("hello"), message("msg_1", "one"), unnamed)
	post(t, r, windowOf("other"), message("msg_2", "two"), unnamed)
	r = start()
	post(t, r, windowOf("hello", "again"), message("msg_3", "three"), unnamed)
	sessions := make(map[string]int)
	for _, e := range rec.Events().Of(schema.TypeAssemblyCreated) {
		sessions[e.SessionID]++
	}
	if len(sessions) != 2 {
		t.Errorf("%v", sessions)
	}
	rec.Check(t)
}
