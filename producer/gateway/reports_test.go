package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
)

// telemetry answers with the outcome that a body names, and keeps what it was given.
type telemetry struct {
	mu    sync.Mutex
	taken []string
}

func (r *telemetry) Report(_ context.Context, tenant string, logs, fromJSON bool, body []byte) (int, string, TelemetryOutcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = append(r.taken, fmt.Sprint(tenant, " ", logs, " ", fromJSON, " ", string(body)))
	switch string(body) {
	case "malformed":
		return 0, "", TelemetryMalformed
	case "busy":
		return 0, "", TelemetryBusy
	case "forbidden":
		return 0, "", TelemetryForbidden
	case "partial":
		return 3, "three", TelemetryTaken
	}
	return 0, "", TelemetryTaken
}

// TestTelemetry: each body reaches the recorder decompressed, and each answer is in the encoding
// of its request, as OTLP/HTTP demands.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	bus, recorder := bustest.Start(t), &telemetry{}
	r := newRig(t, bus, func(c *Config) { c.Telemetry, c.MaxBody = recorder, 1<<20 })
	bare := newRig(t, bus, nil)
	jsonType := "application/json"
	for _, c := range []struct {
		to         *rig
		path, body string
		header     []string
		status     int
		want       string // of the answer's body
		taken      string
	}{
		{r, TracesPath, "spans", []string{"Content-Type", protobufType}, 200, "", "default false false spans"},
		{r, LogsPath, "records", []string{"Content-Type", jsonType}, 200, "{}", "default true true records"},
		{r, LogsPath, string(compress(t, "gzip", []byte("zipped"))), []string{"Content-Type", protobufType, "Content-Encoding", "gzip"}, 200, "", "default true false zipped"},
		{r, TracesPath, "partial", []string{"Content-Type", jsonType}, 200, `{"partialSuccess":{"errorMessage":"three","rejectedSpans":"3"}}`, "default false true partial"},
		{r, LogsPath, "partial", []string{"Content-Type", jsonType}, 200, `{"partialSuccess":{"errorMessage":"three","rejectedLogRecords":"3"}}`, "default true true partial"},
		{r, TracesPath, "partial", []string{"Content-Type", protobufType}, 200, "\x0a\x09\x08\x03\x12\x05three", "default false false partial"},
		{r, TracesPath, "malformed", []string{"Content-Type", jsonType}, 400, `"code":"not_otlp"`, "default false true malformed"},
		{r, TracesPath, "malformed", []string{"Content-Type", protobufType}, 400, "\x12", "default false false malformed"},
		{r, TracesPath, "busy", []string{"Content-Type", protobufType}, 429, "", "default false false busy"},
		{r, TracesPath, "forbidden", []string{"Content-Type", jsonType}, 403, `"code":"forbidden"`, "default false true forbidden"},
		{r, TracesPath, "x", []string{"Content-Type", "text/plain"}, 415, `"code":"content_type"`, ""},
		{r, TracesPath, "x", nil, 415, `"code":"content_type"`, ""},
		{r, TracesPath, string(compress(t, "gzip", bytes.Repeat([]byte(" "), 2<<20))), []string{"Content-Type", jsonType, "Content-Encoding", "gzip"}, 413, `"code":"too_large"`, ""},
		{bare, TracesPath, "x", []string{"Content-Type", jsonType}, 404, `"code":"no_telemetry"`, ""},
	} {
		recorder.taken = nil
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.to.server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.header); i += 2 {
			request.Header.Set(c.header[i], c.header[i+1])
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != c.status || !strings.Contains(string(text), c.want) || c.want == "" && c.status == 200 && len(text) > 0 {
			t.Errorf("%s %.20q %v: %d %q", c.path, c.body, c.header, response.StatusCode, text)
		}
		if response.StatusCode == 429 && response.Header.Get("Retry-After") == "" {
			t.Error("an answer of 429 has no Retry-After")
		}
		if len(c.header) > 0 && c.header[1] == protobufType && response.Header.Get("Content-Type") != protobufType {
			t.Errorf("%s: the answer's type is %s", c.body, response.Header.Get("Content-Type"))
		}
		if got := strings.Join(recorder.taken, ""); got != c.taken {
			t.Errorf("the recorder took %q, not %q", got, c.taken)
		}
	}
}
