package otlp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

func payload(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestReport records payloads. A call that comes again, or as a span and as an event, counts once.
// A call without messages has its usage and no window.
func TestReport(t *testing.T) {
	t.Parallel()
	rec := new(producertest.Recorder)
	ring, err := schema.KeyRing{Tenant: "default"}.Rotate(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := capture.Open(t.Context(), capture.Config{Transport: rec, Instance: "test", Keys: ring, Altered: true})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReporter(recorder, "")
	for _, c := range []struct {
		file    string
		logs    bool
		message string
	}{
		{"genai-span.json", false, ""}, {"genai-span.json", false, ""}, {"genai-event.json", true, ""}, {"claude-code.json", true, ""}, {"claude-code.json", true, ""}, {"ai-sdk.json", false, ""},
	} {
		if refused, message, err := r.Report(t.Context(), "default", c.logs, true, payload(t, c.file)); err != nil || refused != 0 || message != c.message {
			t.Errorf("%s: %d %q %v", c.file, refused, message, err)
		}
	}
	if _, _, err := r.Report(t.Context(), "acme", false, true, nil); !errors.Is(err, ErrTenant) {
		t.Error(err)
	}
	if _, _, err := r.Report(t.Context(), "default", false, true, []byte("{")); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	// The wire of the first call, seen by another capture.
	seen := new(producertest.Recorder)
	wire, err := capture.Open(t.Context(), capture.Config{Transport: seen, Instance: "wire", Keys: ring})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	tap := wire.Tap(request)
	tap.Sent([]byte(`{"model":"gpt-4o","messages":[{"role":"system","content":"Be <brief> & kind."},{"role":"user","content":"Weather in Paris?"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"rainy, 57°F"}],
		"tools":[{"type":"function","function":{"name":"weather","description":"Weather.","parameters":{"type":"object"}}}]}`))
	tap.Answered(200, http.Header{"Content-Type": {"application/json"}}, false)
	tap.Received([]byte(`{"id":"chatcmpl-1","model":"gpt-4o-2024-08-06","choices":[{"message":{"role":"assistant","content":"It rains."},"finish_reason":"stop"}]}`))
	tap.End()
	for _, c := range []*capture.Recorder{recorder, wire} {
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	usages := producertest.Facts[*schema.UsageRecorded](rec.Events())
	if len(usages) != 3 {
		t.Fatalf("%d calls are recorded", len(usages))
	}
	for i, want := range []struct {
		id, window string
		partial    schema.Coverage
	}{{"chatcmpl-1", "chatcmpl-1:reported:window", schema.CoverageComplete}, {"", "", schema.CoveragePartial}, {"msg_1", "msg_1:reported:window", schema.CoverageComplete}} {
		u := usages[i]
		if u.ProviderMessageID != want.id || u.AssemblyID != want.window || u.Fidelity != schema.FidelityReported || u.Coverage != want.partial || u.Metadata["client_altered"] != nil {
			t.Errorf("call %d is %+v", i, u)
		}
	}
	reported, exact := producertest.Facts[*schema.AssemblyCreated](rec.Events()), producertest.Facts[*schema.AssemblyCreated](seen.Events())
	if len(reported) != 2 || len(exact) != 1 {
		t.Fatalf("%d and %d windows", len(reported), len(exact))
	}
	for i, b := range exact[0].OrderedBlocks {
		if got := reported[0].OrderedBlocks[i]; got.EqualityDigest == "" || got.EqualityDigest != b.EqualityDigest || got.Layer != b.Layer {
			t.Errorf("block %d is %+v as reported, and %+v on the wire", i, got, b)
		}
	}
}

// unsure is a transport whose outbox does not confirm while it has an error.
type unsure struct {
	*producertest.Recorder
	err atomic.Pointer[error]
}

func (u *unsure) Store(ctx context.Context) (publish.Stored, error) {
	if err := u.err.Load(); err != nil {
		return "", *err
	}
	return u.Recorder.Store(ctx)
}

// TestReportWaitsForTheOutbox: without a confirmation of the outbox, the emitter has to send the
// body again. The call then counts once.
func TestReportWaitsForTheOutbox(t *testing.T) {
	t.Parallel()
	transport := &unsure{Recorder: new(producertest.Recorder)}
	full := errors.New("the disk is full")
	transport.err.Store(&full)
	recorder, err := capture.Open(t.Context(), capture.Config{Transport: transport, Instance: "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReporter(recorder, "")
	report := func(ctx context.Context) error {
		_, _, err := r.Report(ctx, "default", false, true, payload(t, "genai-span.json"))
		return err
	}
	if err := report(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("an outbox that is full gives %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := report(gone); !errors.Is(err, ErrBusy) {
		t.Errorf("a client that is gone gives %v", err)
	}
	transport.err.Store(nil)
	for range 2 {
		if err := report(t.Context()); err != nil {
			t.Error(err)
		}
	}
	ids := make(map[string]bool)
	for _, e := range transport.Events().Of(schema.TypeUsageRecorded) {
		ids[e.ID] = true
	}
	if len(ids) != 1 {
		t.Errorf("the call is there under %d ids", len(ids))
	}
}
