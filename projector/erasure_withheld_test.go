package projector

import (
	"errors"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

// TestErasureOfWithheldIDs: a redaction withholds an id that the erasure is about. The fact is
// projected all the same, does not hold the id, and a rebuild gives the same tables.
func TestErasureOfWithheldIDs(t *testing.T) {
	t.Parallel()
	const id = projectortest.Secret
	for name, set := range map[string]func(*schema.Event){
		"resource": func(e *schema.Event) { e.ResourceID = id },
		"session":  func(e *schema.Event) { e.SessionID = id },
		"run":      func(e *schema.Event) { e.RunID = id },
		"thread":   func(e *schema.Event) { e.ThreadID = id },
		"item": func(e *schema.Event) {
			fact := &schema.ItemAdded{Item: schema.Item{ItemID: id, ContextKind: "note", Title: erasedContent}}
			item, err := schema.NewEvent(fact, e.ID, e.Source, e.Time, schema.Correlation{Tenant: "acme", SessionID: "s-1"})
			if err != nil {
				t.Error(err)
			}
			*e = *item
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			e := of("user-1", 1, erasedContent)
			set(e)
			f.publish(e.Binary())
			f.publish(projectortest.Redaction(t, 1, id).Binary())
			late, masked := of("user-1", 2, "later"), uint64(0)
			if name != "item" {
				set(late)
				masked = 1
			}
			f.publish(late.Binary()) // refused, with its id masked
			f.flush()
			stop := f.follow(f.guarded(new(logbook)))
			f.awaitLevel()
			run := f.erasure()
			run.Subject = ledger.Subject{Kind: name, ID: id}

			hasty := run
			hasty.Reason = "asked for by " + id
			if _, err := hasty.Run(t.Context()); !errors.As(err, new(*erasure.WithheldError)) {
				t.Errorf("a reason with the value ended with %v", err)
			}
			if name != "resource" && name != "thread" { // records have no such ids
				blind := run
				blind.Keys = nil
				if _, err := blind.Run(t.Context()); !errors.Is(err, erasure.ErrFactRefused) {
					t.Errorf("without keys it ended with %v", err)
				}
			}
			done, err := run.Run(t.Context())
			f.must(err)
			if done.Events != 1 || len(done.ErasureIDs) != 1 || done.Masked != masked {
				t.Errorf("erased %+v", done)
			}
			f.awaitLevel()
			f.nowhere("", erasedContent, id)
			if n := f.count("SELECT count() FROM recorded_events WHERE event_type = 'context.erasure.applied'"); n != 1 {
				t.Errorf("%d facts of erasures", n)
			}
			earlier, err := run.Earlier(t.Context())
			f.must(err)
			if len(earlier) != 1 || earlier[0].Tenant != "acme" || time.Since(earlier[0].At) > time.Hour {
				t.Errorf("the earlier erasures are %+v", earlier)
			}
			stop()
			r := f.rebuild()
			r.CompareOnly = true
			if done := f.rebuilt(r); len(done.Compared.Differences) > 0 {
				t.Errorf("a rebuild differs: %+v", done.Compared.Differences)
			}
		})
	}
}

// TestErasureNeedsTheRing: without its key an erasure cannot name its subject.
func TestErasureNeedsTheRing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(of(erasedSubject, 1, erasedContent).Binary())
	f.project()
	run := f.erasure()
	run.Ring = proof.Ring{}
	if _, err := run.Run(t.Context()); !errors.Is(err, erasure.ErrNoRing) {
		t.Fatal(err)
	}
	if _, err := f.stream().GetMsg(t.Context(), 1); err != nil {
		t.Errorf("the message is gone: %v", err)
	}
}

// TestErasureOfMessagesThatAreNotJSON: bytes that contain the id belong to the data subject.
func TestErasureOfMessagesThatAreNotJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, data := range []string{"user=" + erasedSubject + "&note=x", `{"user":"` + projectortest.Escaped(erasedSubject) + `"}`, `{"user":"` + erasedSubject + `"`} {
		f.publish(schema.Message{Subject: "ctx.v1.acme.noise", Data: []byte(data)})
	}
	for _, data := range []string{"user=user-81", "user=" + erasedSubject + "3", `{"note":"about ` + erasedSubject + `, says another"}`} {
		f.publish(schema.Message{Subject: "ctx.v1.acme.noise", Data: []byte(data)})
	}
	f.flush()
	f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	done, err := f.erasure().Run(t.Context())
	f.must(err)
	if done.Refused != 3 {
		t.Errorf("erased %+v, want 3 refused messages", done)
	}
}
