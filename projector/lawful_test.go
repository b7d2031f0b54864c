package projector

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

// Messages from another stream, without a tenant or a runtime, structured or binary, are
// projected like messages that were published here.
func TestLawfulEventsAreTheirTenants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "EDGE", Subjects: []string{"edge.>"}})
	f.must(err)
	config := f.stream().CachedInfo().Config
	config.Sources = []*jetstream.StreamSource{{
		Name: "EDGE", SubjectTransforms: []jetstream.SubjectTransformConfig{{Source: "edge.>", Destination: "ctx.v1.>"}},
	}}
	_, err = f.js.UpdateStream(t.Context(), config)
	f.must(err)
	var want []string
	for i, tenant := range []string{"acme", "", "default", "a.b c*"} {
		for j, edge := range []bool{false, true} {
			e := projectortest.Event(10*i+j, 0)
			e.Tenant, e.RuntimeID = tenant, []string{"", "rt.1"}[j]
			m := e.Binary()
			if i%2 == 1 {
				m, err = e.Structured()
				f.must(err)
			}
			want = append(want, fmt.Sprint(schema.TenantOf(tenant), " ", e.ID))
			if !edge {
				f.publish(m)
				f.flush()
				continue
			}
			subject := "edge" + m.Subject[len("ctx.v1"):]
			_, err := f.js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Header: m.Header, Data: m.Data})
			f.must(err)
		}
	}
	f.await("the stream has what came by the other", func() bool { return f.stream().CachedInfo().State.Msgs == 8 })
	f.project()
	if got := f.texts("SELECT concat(tenant, ' ', event_id) FROM events FINAL ORDER BY event_id"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("projected %v, want %v", got, want)
	}
	if got := f.texts("SELECT concat(code, ' ', reason) FROM quarantine"); len(got) > 0 {
		t.Errorf("refused: %v", got)
	}
	f.sameAgain()
}

// A message on a subject outside the contract has no tenant.
func TestWhatHasNoSubjectIsNobodys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	config := f.stream().CachedInfo().Config
	config.Subjects = append(config.Subjects, "elsewhere.>")
	_, err := f.js.UpdateStream(t.Context(), config)
	f.must(err)
	m := projectortest.Event(1, 0).Binary()
	m.Subject = "elsewhere.acme"
	f.publish(m)
	f.publish(schema.Message{Subject: "ctx.v1.acme", Header: projectortest.Event(2, 0).Binary().Header, Data: projectortest.Event(2, 0).Data})
	f.project()
	if got := f.texts("SELECT concat(code, ' ', tenant) FROM quarantine ORDER BY stream_seq"); fmt.Sprint(got) != "[tenant_mismatch  subject_mismatch acme]" {
		t.Errorf("refused: %v", got)
	}
}
