package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// TestEventsAreStored posts the same fact in every mode. The stream has each of them, at the
// position that the answer names, with the same digest as the sender's event.
func TestEventsAreStored(t *testing.T) {
	t.Parallel()
	embeddedtest.Smoke(t)
	r := newRig(t, bustest.Start(t), nil)
	for _, mode := range []string{"binary", "structured", "batch", "structured gzip", "structured zstd"} {
		e := removed(t, "s", mode, 1)[0]
		e.Extensions, e.CausationID = map[string]string{"vendor": "ü 100%"}, "cause \"x\""
		var a answered
		switch mode {
		case "binary":
			headers := []string{"Content-Type", "application/json"}
			for name, values := range e.Binary().Header {
				if strings.HasPrefix(name, "ce-") && name != "ce-datacontenttype" {
					headers = append(headers, name, values[0])
				}
			}
			a = r.post(t, "", e.Data, headers...)
		case "structured":
			a = r.structured(t, "", e)
		case "batch":
			a = r.post(t, "", batchOfDocuments(t, e), "Content-Type", batchType+"; charset=UTF-8")
		default:
			encoding := strings.TrimPrefix(mode, "structured ")
			a = r.post(t, "", compress(t, encoding, document(t, e)), "Content-Type", structuredType, "Content-Encoding", encoding)
		}
		if a.status != http.StatusOK || a.outcomes() != "stored" || a.Stored != 1 {
			t.Fatalf("%s: %+v", mode, a)
		}
		if stored := r.at(t, a.Events[0]); stored.Digest() != e.Digest() {
			t.Errorf("%s: the stream has another event:\n%v\n%v", mode, stored.Attributes(), e.Attributes())
		}
		if a.Events[0].ID != e.ID || a.Events[0].Source != e.Source {
			t.Errorf("%s: the verdict names %s of %s", mode, a.Events[0].ID, a.Events[0].Source)
		}
	}
	if a := r.post(t, "", []byte("[]"), "Content-Type", batchType); a.status != http.StatusOK || len(a.Events) != 0 {
		t.Errorf("an empty batch: %+v", a)
	}
}

// TestOneBadEventOfAThousand: without ?all the good ones are stored, with it none, and a dry
// run stores nothing. The answer names the event and the field.
func TestOneBadEventOfAThousand(t *testing.T) {
	t.Parallel()
	r := newRig(t, bustest.Start(t), nil)
	list := removed(t, "s", "e", 1000)
	list[700].Time = time.Time{}
	for _, c := range []struct {
		query            string
		stored, verdicts string
		grows            uint64
	}{
		{"?dry_run", "valid", "valid refused", 0},
		{"?all", "not_stored", "not_stored refused", 0},
		{"?all&dry_run=true", "valid", "valid refused", 0},
		{"", "stored", "stored refused", 999},
	} {
		before := r.Messages(t)
		a := r.structured(t, c.query, list...)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.Detail, "event 700 (e-700)") || !strings.Contains(a.Detail, "/time") {
			t.Fatalf("%s: %d %s", c.query, a.status, a.Detail)
		}
		for i, v := range a.Events {
			want := c.stored
			if i == 700 {
				want = "refused"
			}
			if string(v.Outcome) != want || v.Index != i {
				t.Fatalf("%s: event %d has the verdict %+v", c.query, i, v)
			}
		}
		if v := a.Events[700].Violations; len(v) != 1 || v[0].Code != schema.CodeRequired || v[0].Pointer != "/time" || v[0].Fix == "" {
			t.Errorf("%s: the violations are %v", c.query, v)
		}
		if grown := r.Messages(t) - before; grown != c.grows {
			t.Errorf("%s: the stream grew by %d messages", c.query, grown)
		}
	}
	good := append(list[:700:700], list[701:]...)
	if a := r.structured(t, "?all", good...); a.status != http.StatusOK || a.Stored != 999 || a.Events[998].Sequence != a.Events[0].Sequence+998 {
		t.Errorf("999 good events together: %d %s", a.status, a.Detail)
	}
	if a := r.structured(t, "?all", removed(t, "s", "many", 1001)...); a.status != http.StatusRequestEntityTooLarge || a.Code != "too_many" {
		t.Errorf("1,001 events together: %d %s", a.status, a.Code)
	}
}

// TestDuplicatesAreStoredAgain: another message has the ids of events that were never sent.
// A repeat of a request, and a request with one event twice, are stored as well. The ledger
// counts by source and id.
func TestDuplicatesAreStoredAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, bustest.Start(t), nil)
	for _, query := range []string{"", "?all"} {
		list := removed(t, "s", "dup"+query, 5)
		if _, err := r.JS.Publish(t.Context(), "ctx.v1.evil.r.p00.item.removed", []byte("taken"), jetstream.WithMsgID(list[3].MessageID())); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time as a client repeats it
			a := r.structured(t, query, append(list, list[4])...)
			if a.status != http.StatusOK || a.Stored != 6 {
				t.Fatalf("%q: %+v", query, a)
			}
			for i, v := range a.Events {
				if e := r.at(t, v); e.Digest() != list[min(i, 4)].Digest() {
					t.Errorf("%q: at the position of event %d is %s", query, i, e.ID)
				}
			}
		}
		for range 2 {
			if a := r.structured(t, query, list[3]); a.status != http.StatusOK || r.at(t, a.Events[0]).ID != list[3].ID {
				t.Errorf("%q: a single event with a taken id: %+v", query, a)
			}
		}
	}
}

// TestPartitions stores events of several streams, each at its place. ?all takes those of one.
func TestPartitions(t *testing.T) {
	t.Parallel()
	bus := bustest.Start(t)
	if err := bus.JS.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	for _, s := range schema.Partitions(4).EventStreams() {
		bus.CreateStream(t, jetstream.StreamConfig{Name: s.Name, Subjects: s.Subjects, Metadata: s.Metadata, AllowAtomicPublish: true})
	}
	r := newRig(t, bus, nil)
	var list []*schema.Event
	for session := range 16 {
		list = append(list, removed(t, fmt.Sprint("session-", session), fmt.Sprint("e", session), 3)...)
	}
	a := r.structured(t, "", list...)
	streams := make(map[string]bool)
	for i, v := range a.Events {
		streams[v.Stream] = true
		if v.Outcome != Stored || r.at(t, v).ID != list[i].ID {
			t.Errorf("event %d: %+v", i, v)
		}
	}
	if len(streams) < 3 {
		t.Errorf("the events are in the streams %v", streams)
	}
	if a := r.structured(t, "?all", list...); a.status != http.StatusRequestEntityTooLarge || a.Code != "several_partitions" || a.Stored != 0 {
		t.Errorf("events of several partitions together: %+v", a.Problem)
	}
	if a := r.structured(t, "?all", list[:3]...); a.status != http.StatusOK || a.Stored != 3 {
		t.Errorf("events of one partition together: %+v", a)
	}
}

// TestTenantsAreBound: the configuration says whose events they are, never an event.
func TestTenantsAreBound(t *testing.T) {
	t.Parallel()
	tenants := map[string]string{"Bearer a": "acme", "Bearer g": "globex"}
	r := newRig(t, bustest.Start(t), func(c *Config) {
		c.Tenant = func(r *http.Request) (string, error) {
			tenant, ok := tenants[r.Header.Get("Authorization")]
			switch {
			case r.Header.Get("Authorization") == "Bearer reader":
				return "", ErrForbidden
			case !ok:
				return "", ErrUnauthenticated
			}
			return tenant, nil
		}
	})
	e := removed(t, "s", "e", 1)[0]
	a := r.post(t, "", document(t, e), "Content-Type", structuredType, "Authorization", "Bearer a")
	if a.status != http.StatusOK || r.at(t, a.Events[0]).Tenant != "acme" {
		t.Errorf("an event without a tenant: %+v", a)
	}
	e.Tenant = "acme"
	for token, want := range map[string]struct {
		status int
		code   string
	}{
		"Bearer a": {200, ""}, "Bearer g": {422, "refused"}, "Bearer reader": {403, "forbidden"}, "Bearer x": {401, "unauthenticated"}, "": {401, "unauthenticated"},
	} {
		a := r.post(t, "", document(t, e), "Content-Type", structuredType, "Authorization", token)
		if a.status != want.status || a.Code != want.code {
			t.Errorf("%q: %d %s", token, a.status, a.Code)
		}
		if want.status == 422 && (a.Events[0].Violations[0].Code != schema.CodeTenantMismatch || a.Events[0].Violations[0].Pointer != "/tenant") {
			t.Errorf("another tenant's event: %v", a.Events[0].Violations)
		}
		if want.status == 401 && a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: no WWW-Authenticate", token)
		}
	}
	revoked, err := schema.NewEvent(&schema.RedactionRevoked{Common: schema.Common{PolicyRefs: schema.Refs("p")}, RedactionID: "r", Reason: "x"}, "id", "urn:test", time.Unix(1, 0), schema.Correlation{})
	if err != nil {
		t.Fatal(err)
	}
	a = r.post(t, "", document(t, revoked), "Content-Type", structuredType, "Authorization", "Bearer a")
	if a.status != 422 || a.Events[0].Violations[0].Pointer != "/type" {
		t.Errorf("a fact of the operator: %+v", a)
	}
}

// TestStreamIsAway: no stream, a full stream, a stream without batches, and no server. The
// verdict never says more than what the stream said.
func TestStreamIsAway(t *testing.T) {
	t.Parallel()
	bus := bustest.Start(t)
	r := newRig(t, bus, func(c *Config) { c.StoreTimeout = 2 * time.Second })
	stream := func(edit func(*jetstream.StreamConfig)) {
		t.Helper()
		c := jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true}
		edit(&c)
		if err := bus.JS.DeleteStream(t.Context(), "CTX"); err != nil {
			t.Fatal(err)
		}
		bus.CreateStream(t, c)
	}
	check := func(name string, a answered, status int, code, outcomes string) {
		t.Helper()
		if a.status != status || a.Code != code || a.outcomes() != outcomes {
			t.Errorf("%s: %d %s %s: %s", name, a.status, a.Code, a.outcomes(), a.Detail)
		}
		if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", name)
		}
	}
	stream(func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false })
	check("no batches", r.structured(t, "", removed(t, "s", "a", 3)...), 200, "", "stored stored stored")
	check("no batches, all", r.structured(t, "?all", removed(t, "s", "b", 3)...), 501, "no_batches", "not_stored not_stored not_stored")
	stream(func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 2, jetstream.DiscardNew })
	check("full, all", r.structured(t, "?all", removed(t, "s", "c", 3)...), 507, "full", "not_stored not_stored not_stored")
	// The server may count the refused batch for a moment, so the outcomes of the first two are open.
	if a := r.structured(t, "", removed(t, "s", "d", 3)...); a.status != 507 || a.Code != "full" || a.Stored > 2 || a.Events[2].Outcome != NotStored {
		t.Errorf("full: %d %s %s", a.status, a.Code, a.outcomes())
	}
	stream(func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 })
	big := removed(t, "s", "e", 3)
	big[1].Data = append(big[1].Data[:len(big[1].Data)-1], `,"metadata":{"a":"`+strings.Repeat("x", 2000)+`"}}`...)
	a := r.structured(t, "", big...)
	check("one too large for the server", a, 422, "refused", "stored refused stored")
	if a.Events[1].Violations[0].Code != schema.CodeTooLarge {
		t.Error(a.Events[1].Violations)
	}
	check("one too large for the server, all", r.structured(t, "?all", big...), 503, "incomplete", "not_stored not_stored not_stored")
	if err := bus.JS.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	check("no stream", r.structured(t, "", removed(t, "s", "f", 1)...), 503, "no_stream", "not_stored")
	check("no stream, batch", r.structured(t, "", removed(t, "s", "g", 2)...), 503, "no_stream", "not_stored not_stored")
	bus.NC.Close()
	check("no server", r.structured(t, "", removed(t, "s", "h", 2)...), 503, "unavailable", "not_stored not_stored")
}
