package projector

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

// forgedErasure is a valid fact of a tenant that names messages of other tenants.
func forgedErasure(tb testing.TB, tenant, id string, records ...schema.ErasedRecord) *schema.Event {
	tb.Helper()
	fact := &schema.ErasureApplied{
		Common: schema.Common{PolicyRefs: schema.Refs("policy:mine")}, ErasureID: id, ErasedSubject: "user-1", Reason: "forged", Records: records,
	}
	e, err := schema.NewEvent(fact, id, erasure.Source, time.Unix(1_700_000_000, 0), schema.Correlation{Tenant: tenant})
	if err != nil {
		tb.Fatal(err)
	}
	if _, found := schema.Validate(e); len(found) > 0 {
		tb.Fatal(found)
	}
	return e
}

// leafOf returns the leaf at a sequence of the transparency log, in hex.
func (f *fixture) leafOf(sequence uint64) string {
	f.t.Helper()
	leaves, err := translog.Of(f.ledger).Leaves(f.t.Context(), uuid.MustParse(f.incarnation()), []uint64{sequence})
	f.must(err)
	hash := leaves[sequence].Hash
	return hex.EncodeToString(hash[:])
}

// Another tenant publishes facts about the subject's messages, with wrong and right leaves,
// before and after the operator's fact.
func TestForgedErasuresChangeNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 4 {
		f.publish(of(erasedSubject, i, erasedContent).Binary())
		f.publish(projectortest.Event(100+i, 0).Binary())
	}
	stop := f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	session := projectortest.Event(0, 0).SessionID
	wrong := strings.Repeat("ab", tlog.HashSize)
	forge := func(id string, sequences ...uint64) {
		var records []schema.ErasedRecord
		for _, seq := range sequences {
			for _, leaf := range []string{wrong, f.leafOf(seq), ""} {
				records = append(records, schema.ErasedRecord{Stream: schema.EventStream, Sequence: int64(seq), Leaf: leaf, SessionID: session, ItemID: "item"})
			}
		}
		f.publish(forgedErasure(t, "zeta", id, records...).Binary())
		f.awaitLevel()
	}
	forge("before", 1, 2, 3)
	root := f.logged()
	done, err := f.erasure().Run(t.Context())
	f.must(err)
	if done.Events != 4 || len(done.ErasureIDs) != 1 {
		t.Fatalf("erased %+v", done)
	}
	f.awaitLevel()
	forge("after", 1, 3, 4, 5)
	if told := f.texts("SELECT toString(arraySort(JSONExtract(data, 'records', 'Array(Tuple(sequence UInt64))')).1) FROM events FINAL WHERE event_type = 'context.erasure.applied' AND tenant = 'acme'"); fmt.Sprint(told) != "[[1,3,5,7]]" {
		t.Errorf("the operator's facts tell of %v", told)
	}
	erasedOf := func(tenant string) (sequences []uint64) {
		gone, err := read.Of(f.ledger).ScopeErased(t.Context(), read.Scope{Tenant: tenant, Session: of(erasedSubject, 0, "").SessionID})
		f.must(err)
		for _, e := range gone {
			sequences = append(sequences, e.StreamSeq)
		}
		return sequences
	}
	if got := erasedOf("acme"); !slices.Equal(got, []uint64{1, 3, 5, 7}) {
		t.Errorf("erased of acme: %v", got)
	}
	if got := erasedOf("zeta"); len(got) > 0 {
		t.Errorf("erased of zeta: %v", got)
	}
	f.must(stop())
	f.sameAgain()
	again, err := translog.Of(f.ledger).LogAt(t.Context(), uuid.MustParse(f.incarnation()), 9)
	f.must(err)
	if again.Root != root {
		t.Error("the log of the first nine is another")
	}
	f.must(f.run(f.guarded(new(logbook)))) // reads the last range again
}

// Another message has the id of the operator's fact. In the duplicate window the server would
// treat the fact as its repeat.
func TestAnErasureIsToldUnderATakenMessageID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(of(erasedSubject, 1, erasedContent).Binary())
	f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	e := f.erasure()
	e.JetStream = idTaken{f.js, new(sync.Once)}
	done, err := e.Run(t.Context())
	f.must(err)
	if done.Events != 1 || len(done.ErasureIDs) != 1 {
		t.Errorf("erased %+v", done)
	}
	f.awaitLevel()
	if n := f.count("SELECT count() FROM events FINAL WHERE event_type = 'context.erasure.applied'"); n != 1 {
		t.Errorf("%d facts tell of it", n)
	}
}

// idTaken publishes another message under the known message id of an erasure's fact, before
// that fact.
type idTaken struct {
	jetstream.JetStream
	once *sync.Once
}

func (i idTaken) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if strings.HasSuffix(msg.Subject, ".erasure.applied") {
		var err error
		i.once.Do(func() {
			m := projectortest.Event(7, 0).Binary()
			_, err = i.JetStream.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}, opts...)
		})
		if err != nil {
			return nil, err
		}
	}
	return i.JetStream.PublishMsg(ctx, msg, opts...)
}

// A replay belongs to the tenant of its quarantined message, with any correction. A message
// that claims to replay another tenant's message replaces nothing.
func TestReplaysKeepTheirTenant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stolen := projectortest.Event(1, 0)
	stolen.Tenant = "zeta"
	f.publish(projectortest.On("acme", stolen)) // quarantined for its tenant
	broken := projectortest.Event(2, 0).Binary()
	broken.Data = broken.Data[:len(broken.Data)-1]
	f.publish(broken)
	f.project()
	var refusals []ledger.Refusal
	f.must(read.Of(f.ledger).Refusals(t.Context(), read.RefusalFilter{}, func(r ledger.Refusal) error {
		refusals = append(refusals, r)
		return nil
	}))
	if len(refusals) != 2 || refusals[0].Code != string(schema.CodeTenantMismatch) || refusals[0].Tenant != "acme" {
		t.Fatalf("refused: %+v", refusals)
	}
	repaired := projectortest.Event(1, 0)
	for _, tenant := range []string{"zeta", "default", "Acme"} {
		repaired.Tenant = tenant
		if _, err := quarantine.ReplayFixed(t.Context(), f.js, refusals[0], repaired); err == nil || !strings.Contains(err.Error(), "acme") {
			t.Errorf("replayed as %s: %v", tenant, err)
		}
	}
	// zeta claims that a message of zeta replays acme's message.
	sham := projectortest.Event(3, 0)
	sham.Tenant = "zeta"
	m := sham.Binary()
	m.Header[quarantine.ReplayHeader] = []string{fmt.Sprintf("%s:%d", refusals[1].Incarnation, refusals[1].StreamSeq)}
	f.publish(m)
	f.project()
	if list, err := read.Of(f.ledger).Replays(t.Context(), refusals[1]); err != nil || len(list) > 0 {
		t.Errorf("replayed by another tenant: %v, %v", list, err)
	}
	if waiting := f.refusals(read.RefusalFilter{Waiting: true}); len(waiting) != 2 {
		t.Errorf("%d wait to be replayed", len(waiting))
	}
	repaired.Tenant = ""
	if _, err := quarantine.ReplayFixed(t.Context(), f.js, refusals[0], repaired); err != nil {
		t.Fatal(err)
	}
	f.project()
	if got := f.texts("SELECT tenant FROM events FINAL WHERE event_id = 'event-1'"); fmt.Sprint(got) != "[acme]" {
		t.Errorf("the replay is of %v", got)
	}
	if list, err := read.Of(f.ledger).Replays(t.Context(), refusals[0]); err != nil || len(list) != 1 || list[0].Outcome != "recorded" {
		t.Errorf("replayed: %v, %v", list, err)
	}
}
