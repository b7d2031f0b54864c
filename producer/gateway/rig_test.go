package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// rig is a gateway behind a real HTTP server, with a real NATS server.
type rig struct {
	*bustest.Bus
	handler *Handler
	server  *httptest.Server
}

func newRig(t testing.TB, bus *bustest.Bus, edit func(*Config)) *rig {
	t.Helper()
	c := DefaultConfig(bus.JS)
	if edit != nil {
		edit(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return &rig{bus, h, server}
}

// answered is an answer as a client sees it: an Answer or a Problem.
type answered struct {
	Problem
	status int
	header http.Header
	Stored int       `json:"stored"`
	Events []Verdict `json:"events"`
}

// outcomes returns the outcomes of the events in one text, such as "stored refused".
func (a answered) outcomes() string {
	var list []string
	for _, v := range a.Events {
		list = append(list, string(v.Outcome))
	}
	return strings.Join(list, " ")
}

// post sends a body. Headers are pairs of a name and a value.
func (r *rig) post(t testing.TB, query string, body []byte, headers ...string) answered {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.server.URL+Path+query, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return r.do(t, request)
}

func (r *rig) do(t testing.TB, request *http.Request) answered {
	t.Helper()
	response, err := r.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answered{status: response.StatusCode, header: response.Header}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("status %d, %q: %v", response.StatusCode, text, err)
	}
	want := "application/json"
	if a.status != http.StatusOK {
		want = "application/problem+json"
		if a.Code == "" || a.Detail == "" || a.Fix == "" || a.Problem.Status != a.status {
			t.Errorf("the problem has no code, detail, fix or status: %s", text)
		}
	}
	if got := response.Header.Get("Content-Type"); got != want {
		t.Errorf("status %d has the Content-Type %s, not %s", a.status, got, want)
	}
	return a
}

func (r *rig) structured(t testing.TB, query string, events ...*schema.Event) answered {
	t.Helper()
	if len(events) == 1 {
		return r.post(t, query, document(t, events[0]), "Content-Type", structuredType)
	}
	return r.post(t, query, batchOfDocuments(t, events...), "Content-Type", batchType)
}

func document(t testing.TB, e *schema.Event) []byte {
	t.Helper()
	text, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func batchOfDocuments(t testing.TB, events ...*schema.Event) []byte {
	t.Helper()
	var list [][]byte
	for _, e := range events {
		list = append(list, document(t, e))
	}
	return []byte("[" + string(bytes.Join(list, []byte(","))) + "]")
}

// removed returns valid events of a session, with ids prefix-0, prefix-1, …
func removed(t testing.TB, session, prefix string, n int) []*schema.Event {
	t.Helper()
	list := make([]*schema.Event, n)
	for i := range list {
		id := fmt.Sprintf("%s-%d", prefix, i)
		e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "item-" + id}, id, "urn:test", time.Unix(1, 0), schema.Correlation{SessionID: session})
		if err != nil {
			t.Fatal(err)
		}
		list[i] = e
	}
	return list
}

// at returns the message at a position of a stream.
func (r *rig) at(t testing.TB, v Verdict) *schema.Event {
	t.Helper()
	stream, err := r.JS.Stream(t.Context(), v.Stream)
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetMsg(t.Context(), v.Sequence)
	if err != nil {
		t.Fatalf("%s, %d: %v", v.Stream, v.Sequence, err)
	}
	e, fact, found, _ := schema.ReadMessage(m.Header, m.Data)
	if len(found) > 0 || fact == nil {
		t.Fatalf("the stored message is no event: %v", found)
	}
	if mismatch := e.CheckSubject(m.Subject); mismatch != nil {
		t.Fatal(mismatch)
	}
	return e
}
