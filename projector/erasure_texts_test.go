package projector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/recheck"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

// texted is a fixture whose sessions have large texts.
type texted struct {
	*fixture
	bucket *texts.Bucket
	key    schema.Key
	items  int
}

func newTexted(t *testing.T) *texted {
	t.Helper()
	f := &texted{fixture: newFixture(t), key: projectortest.KeyRing(t).Current()}
	var err error
	f.bucket, err = texts.Open(t.Context(), f.js)
	f.must(err)
	return f
}

// name returns the name of a text of the tenant acme.
func (f *texted) name(text string) texts.Name {
	return texts.Name{Tenant: "acme", Digest: f.key.Digest([]byte(text))}
}

// write writes a text to the bucket, without a fact.
func (f *texted) write(text string) {
	f.t.Helper()
	w := texts.NewWriter(f.bucket, "acme", f.key)
	f.must(w.Write(f.t.Context(), f.name(text).Digest, text))
	f.must(w.Settle(f.t.Context()))
}

// item returns an item of a session that names a text.
func (f *texted) item(tenant, session, text string) *schema.Event {
	f.t.Helper()
	f.items++
	id := fmt.Sprintf("i-%d", f.items)
	fact := &schema.ItemAdded{Item: schema.Item{ItemID: id, ContextKind: "tool_result", ContentMode: schema.ContentRef, ContentRef: schema.TextRef(f.name(text).Digest)}}
	e, err := schema.NewEvent(fact, id, "urn:ctxledger:test", projectortest.Stored, schema.Correlation{Tenant: tenant, SessionID: session})
	f.must(err)
	return e
}

// left returns those of the texts that the bucket has.
func (f *texted) left(all ...string) (left []string) {
	f.t.Helper()
	for _, text := range all {
		there, err := f.bucket.Has(f.t.Context(), f.name(text))
		f.must(err)
		if there {
			left = append(left, text)
		}
	}
	return left
}

func (f *texted) erasureOf(session string) erasure.Erasure {
	e := f.erasure()
	e.Subject = ledger.Subject{Kind: "session", ID: session}
	return e
}

// TestErasureOfTexts: an erasure removes the texts that only its subject names, also after it was killed at
// any step. What another session names stays until that one is erased.
func TestErasureOfTexts(t *testing.T) {
	t.Parallel()
	f := newTexted(t)
	for _, text := range []string{"own", "shared", "refused", "unnamed"} {
		f.write(text)
	}
	f.publish(f.item("acme", "s-1", "own").Binary())
	f.publish(f.item("acme", "s-1", "own").Binary())
	f.publish(f.item("acme", "s-1", "shared").Binary())
	f.publish(f.item("acme", "s-2", "shared").Binary())
	f.publish(f.item("umbrella", "s-2", "own").Binary()) // names nothing of acme
	refused := f.item("acme", "s-2", "refused").Binary()
	refused.Data = append([]byte(`{"schema_version":"none",`), refused.Data[1:]...)
	f.publish(refused)
	f.publish(f.item("acme", "s-1", "refused").Binary())
	f.flush()
	f.follow(f.guarded(new(logbook)))
	f.awaitLevel()

	found, err := f.erasureOf("s-1").Find(t.Context())
	f.must(err)
	if found.Events != 4 || found.Texts != 1 {
		t.Fatalf("found %+v", found)
	}
	for _, point := range []string{"tell", "await", "delete", "remove texts"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		crash := errors.New("killed at " + point)
		e := f.erasureOf("s-1")
		e.Steps = atEach(func(at string) {
			if at == point {
				cancel(crash)
			}
		})
		if _, err := e.Run(ctx); err == nil || context.Cause(ctx) != crash {
			t.Fatalf("%s: %v", point, err)
		}
	}
	if left := f.left("own", "shared", "refused", "unnamed"); !slices.Equal(left, []string{"shared", "refused", "unnamed"}) {
		t.Errorf("%v are left", left)
	}
	_, err = f.erasureOf("s-1").Run(t.Context())
	f.must(err)
	found, err = f.erasureOf("s-2").Find(t.Context())
	f.must(err)
	if found.Texts != 2 {
		t.Errorf("found %+v", found)
	}
	_, err = f.erasureOf("s-2").Run(t.Context())
	f.must(err)
	if left := f.left("own", "shared", "refused", "unnamed"); !slices.Equal(left, []string{"unnamed"}) {
		t.Errorf("%v are left: a text that may be named soon must stay, and no other", left)
	}
}

// TestErasureDuringWrite: a text that a session names while another one is erased is there in the end.
func TestErasureDuringWrite(t *testing.T) {
	t.Parallel()
	f := newTexted(t)
	f.write("shared")
	f.publish(f.item("acme", "s-1", "shared").Binary())
	f.flush()
	f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	for _, point := range []string{"tell", "await", "delete"} {
		w := texts.NewWriter(f.bucket, "acme", f.key)
		f.must(w.Write(t.Context(), f.name("shared").Digest, "shared"))
		e := f.erasureOf("s-1")
		e.Steps = atEach(func(at string) {
			if at == point { // after the bucket was asked for texts, before they are removed
				f.publish(f.item("acme", "s-2", "shared").Binary())
				f.flush()
				f.must(w.Settle(t.Context()))
			}
		})
		_, err := e.Run(t.Context())
		f.must(err)
		if len(f.left("shared")) != 1 {
			t.Errorf("%s: the text is gone", point)
		}
		f.publish(f.item("acme", "s-1", "shared").Binary())
		f.flush()
		f.awaitLevel()
	}
}

// TestRetentionOfTexts: a text leaves the bucket with the content of its last fact.
func TestRetentionOfTexts(t *testing.T) {
	t.Parallel()
	f := newTexted(t)
	f.write("old")
	f.write("kept")
	f.publish(f.item("acme", "s-1", "old").Binary())
	f.publish(f.item("acme", "s-1", "kept").Binary())
	f.flush()
	stop := f.follow(f.projector())
	f.awaitLevel()
	time.Sleep(2100 * time.Millisecond) // longer than the age of content, in whole seconds
	f.publish(f.item("acme", "s-2", "kept").Binary())
	f.publishMix(1000, 2)
	f.flush()
	f.awaitLevel()
	stop()
	_, err := f.leases().Put(t.Context(), "retention.policy", []byte(`{"age_seconds":1,"tenant_content_age_seconds":{"acme":1}}`))
	f.must(err)
	_, err = f.retention().Run(t.Context())
	f.must(err)
	if n := f.count("SELECT count() FROM events WHERE data = '' AND session_id = 's-1'"); n != 2 {
		t.Fatalf("the content of %d facts has expired", n)
	}
	if left := f.left("old", "kept"); !slices.Equal(left, []string{"kept"}) {
		t.Errorf("%v are left", left)
	}
}

// TestSweepAwaitsTheTables: without a projector nothing is removed that a later message may name.
func TestSweepAwaitsTheTables(t *testing.T) {
	t.Parallel()
	f := newTexted(t)
	f.write("shared")
	f.publish(f.item("acme", "s-1", "shared").Binary())
	f.flush()
	f.project()
	f.publish(f.item("acme", "s-2", "shared").Binary())
	f.flush()
	gone := func(_ uuid.UUID, sequence uint64) bool { return sequence == 1 }
	s := texts.Sweep{JetStream: f.js, Tables: shardmap.Plain(f.ledger), Gone: gone, Patience: 100 * time.Millisecond, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if n, err := s.Run(t.Context()); !errors.Is(err, texts.ErrNotProjected) || n != 0 || len(f.left("shared")) != 1 {
		t.Errorf("removed %d, %v", n, err)
	}
	f.project()
	if n, err := s.Run(t.Context()); err != nil || n != 0 {
		t.Errorf("removed %d, %v", n, err)
	}
	s.Gone = func(uuid.UUID, uint64) bool { return true }
	if n, err := s.Run(t.Context()); err != nil || n != 1 || len(f.left("shared")) != 0 {
		t.Errorf("removed %d, %v", n, err)
	}
	// an installation of an earlier version
	f.must(f.js.DeleteStream(t.Context(), streamio.TextsStream))
	if n, err := s.Run(t.Context()); n != 0 || err != nil {
		t.Errorf("without a bucket: %d, %v", n, err)
	}
	if !strings.HasPrefix(streamio.TextsStream, "OBJ_") {
		t.Error("clients of NATS see no object bucket")
	}
}

// TestRestoreOfTexts: a restored installation has the texts of its facts. A backup of an earlier version
// has no bucket, and the restore makes one.
func TestRestoreOfTexts(t *testing.T) {
	t.Parallel()
	for _, earlier := range []bool{false, true} {
		f := newTexted(t)
		f.write("kept")
		f.publish(f.item("acme", "s-1", "kept").Binary())
		f.flush()
		f.must(f.run(f.guarded(new(logbook))))
		if earlier {
			f.must(f.js.DeleteStream(t.Context(), streamio.TextsStream))
		}
		dir := f.backedUp()

		g := &texted{fixture: newFixture(t), key: f.key}
		g.restored(g.restore(dir))
		var err error
		g.bucket, err = texts.Open(t.Context(), g.js)
		g.must(err)
		text, err := g.bucket.Get(t.Context(), f.name("kept"), []schema.Key{f.key})
		if earlier {
			if !errors.Is(err, texts.ErrAbsent) {
				t.Errorf("a text that was not in the backup: %v", err)
			}
			g.write("new")
			continue
		}
		if text != "kept" || err != nil {
			t.Errorf("restored %q, %v", text, err)
		}
		if found, err := g.erasureOf("s-1").Find(t.Context()); err != nil || found.Texts != 1 {
			t.Errorf("found %+v, %v", found, err)
		}
	}
}

// TestRecheckOfTexts: a re-check searches the texts of events, and counts those that it cannot read.
func TestRecheckOfTexts(t *testing.T) {
	t.Parallel()
	f := newTexted(t)
	secret := "it is " + projectortest.Secret
	for _, text := range []string{"harmless", secret, "unreadable"} {
		f.write(text)
		f.publish(f.item("acme", "s-1", text).Binary())
	}
	f.publish(f.item("acme", "s-1", "absent").Binary())
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	var found []uint64
	r := recheck.Rechecker{Ledger: f.ledger, Keys: projectortest.Keys(t), Found: func(hit privacy.Reintroduction) { found = append(found, hit.StreamSeq) }}
	r.Text = func(ctx context.Context, tenant string, ref schema.Ref) (string, error) {
		text, err := f.bucket.Get(ctx, texts.NameOf(tenant, ref), []schema.Key{f.key})
		switch {
		case errors.Is(err, texts.ErrAbsent):
			return "", nil
		case text == "unreadable":
			return "", texts.ErrNoKey
		}
		return text, err
	}
	got, err := r.Run(t.Context())
	f.must(err)
	if got != (recheck.Rechecked{Events: 5, Found: 1, Unread: 1}) || !slices.Equal(found, []uint64{2}) {
		t.Errorf("found %v, %+v", found, got)
	}
}
