package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// TestReceipts reads the notices of a tenant: all, those of a source, and those after a position.
func TestReceipts(t *testing.T) {
	t.Parallel()
	bus := bustest.Start(t)
	r := newRig(t, bus, func(c *Config) {
		c.Tenant = func(r *http.Request) (string, error) {
			if _, tenant, ok := r.BasicAuth(); ok {
				return tenant, nil
			}
			return "", ErrUnauthenticated
		}
	})
	get := func(tenant, query string) (int, Receipts, Problem) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL+ReceiptsPath+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tenant != "" {
			request.SetBasicAuth("", tenant)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var body struct {
			Receipts
			Problem
		}
		if err := json.UnmarshalRead(response.Body, &body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, body.Receipts, body.Problem
	}
	if status, _, p := get("acme", ""); status != 503 || p.Code != "no_notices" || p.Fix == "" {
		t.Errorf("without a stream: %d %+v", status, p)
	}
	bus.CreateStream(t, jetstream.StreamConfig{Name: schema.NoticeStream, Subjects: []string{"ctxnotice.v1.>"}})
	sources := []string{"urn:a", "urn:a", "urn:b", "urn:a", "urn:c & d"}
	for i, source := range sources {
		tenant := "acme"
		if i == 3 {
			tenant = "zeta"
		}
		data, err := json.Marshal(schema.Notice{
			Outcome: schema.OutcomeQuarantined, Stream: "CTX", Sequence: uint64(i), RecordedAt: time.Unix(int64(i), 0).UTC(), Source: source,
			ID: fmt.Sprint("e", i), Code: schema.CodeIDConflict, Pointer: "/id", Fix: "why",
		})
		if err == nil {
			_, err = bus.JS.Publish(t.Context(), schema.NoticeSubject(tenant, source), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ tenant, query, want string }{
		{"acme", "", "e0 e1 e2 e4 next 5"},
		{"acme", "?after=2", "e2 e4 next 5"},
		{"acme", "?after=5", " next 5"},
		{"acme", "?source=urn:a", "e0 e1 next 2"},
		{"acme", "?source=" + url.QueryEscape("urn:c & d"), "e4 next 5"},
		{"acme", "?source=urn:none", " next 0"},
		{"zeta", "", "e3 next 4"},
		{"other", "", " next 0"},
	} {
		status, receipts, p := get(c.tenant, c.query)
		var ids []string
		for _, n := range receipts.Notices {
			ids = append(ids, n.ID)
			if n.Code != schema.CodeIDConflict || n.Fix != "why" || n.Position == 0 || n.RecordedAt.IsZero() {
				t.Errorf("%+v", n)
			}
		}
		if got := fmt.Sprint(strings.Join(ids, " "), " next ", receipts.Next); status != 200 || got != c.want || receipts.More {
			t.Errorf("%s %s: %d %q, not %q: %s", c.tenant, c.query, status, got, c.want, p.Detail)
		}
	}
	for query, want := range map[string]string{"?after=-1": "400 parameter", "?after=x": "400 parameter", "?afterr=1": "400 parameter", "?%zz": "400 parameter"} {
		if status, _, p := get("acme", query); fmt.Sprint(status, " ", p.Code) != want || p.Fix == "" {
			t.Errorf("%s: %d %+v", query, status, p)
		}
	}
	if status, _, _ := get("", ""); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	response, err := http.Post(r.server.URL+ReceiptsPath, structuredType, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 405 || response.Header.Get("Allow") != http.MethodGet {
		t.Errorf("POST: %d %v", response.StatusCode, response.Header)
	}
}
