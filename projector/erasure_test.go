package projector

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

const (
	erasedSubject = "user-812" // the data subject of the golden events
	erasedContent = "has lived in Rotterdam since 1987"
)

// of returns an event of a data subject, with content.
func of(subject string, id int, content string) *schema.Event {
	e := projectortest.Foreign(id, fmt.Sprintf(`{"note":%q}`, content))
	e.ResourceID = subject
	return e
}

// publishSubject publishes messages of a data subject and others: events of every type,
// repeats, conflicts, and quarantined messages of all kinds. publishSubject returns the
// subject's numbers of events, repeats and quarantined messages.
func (f *fixture) publishSubject() (want erasure.Erasable) {
	f.t.Helper()
	refused := func(e *schema.Event) schema.Message {
		m := e.Binary()
		m.Data = m.Data[:len(m.Data)-1]
		want.Refused++
		return m
	}
	f.publish(of("user-1", 1000, "is none of it").Binary())
	for i, typ := range schema.Types() {
		if slices.Contains([]schema.Type{schema.TypeErasureApplied, schema.TypeExported, schema.TypeRedactionRevoked}, typ) {
			continue
		}
		e := projectortest.Golden(i)
		e.TraceState = "a=" + base64.RawURLEncoding.EncodeToString([]byte(erasedContent))
		if typ == schema.TypeRedactionApplied {
			want.Kept++
			e.TraceState = ""
		} else {
			want.Events++
		}
		f.publish(e.Binary())
		f.publish(projectortest.Event(2000+i, 0).Binary())
	}
	for i := range 5 {
		f.publish(of(erasedSubject, 100+i, erasedContent).Binary())
		f.publish(of("user-1", 1001+i, "is none of it").Binary())
		want.Events++
	}
	f.publish(of(erasedSubject, 100, erasedContent).Binary())
	want.Repeats++
	f.publish(of("user-1", 1000, "is none of it").Binary())
	f.publish(of("user-2", 101, "another's event with an id that is taken").Binary())
	want.Refused++
	f.publish(refused(of(erasedSubject, 200, erasedContent)))
	f.publish(refused(of("user-1", 201, "is none of it")))
	want.Refused--
	f.publish(schema.Message{Subject: "ctx.v1.noise", Data: []byte(`{"user":"` + erasedSubject + `","note":"` + erasedContent + `"`)})
	want.Refused++
	f.publish(schema.Message{Subject: "ctx.v1.noise", Data: []byte("no CloudEvent\xff")})
	f.flush()
	want.Copies = want.Refused
	return want
}

func (f *fixture) erasure() erasure.Erasure {
	f.t.Helper()
	subject, err := ledger.ParseSubject(erasedSubject)
	f.must(err)
	ring, err := testLogRing()
	f.must(err)
	return erasure.Erasure{JetStream: f.js, Tables: shardmap.Plain(f.ledger), Ring: ring, Keys: projectortest.Keys(f.t), Subject: subject, Reason: "asked for", PolicyRefs: []string{"policy:erasure"}}
}

// untouched returns the rows and messages that an erasure must leave.
func (f *fixture) untouched() (rows uint64, messages []string) {
	f.t.Helper()
	rows = f.count("SELECT count() FROM recorded_events WHERE (resource_id != 'user-812' OR event_type = 'context.redaction.applied') AND event_type != 'context.erasure.applied'")
	for _, name := range []string{schema.EventStream, schema.QuarantineStream, schema.NoticeStream} {
		stream, err := f.js.Stream(f.t.Context(), name)
		f.must(err)
		for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
			msg, err := stream.GetMsg(f.t.Context(), seq)
			if err == nil && !strings.HasSuffix(msg.Subject, ".erasure.applied") {
				messages = append(messages, fmt.Sprint(name, seq, msg.Subject, msg.Header, string(msg.Data)))
			}
		}
	}
	return rows, messages
}

func TestErasure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := f.publishSubject()
	stop := f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	rows, before := f.untouched()
	leaves := f.count("SELECT count() FROM log_hashes FINAL")

	found, err := f.erasure().Find(t.Context())
	f.must(err)
	if found != want {
		t.Fatalf("found %+v, want %+v", found, want)
	}
	done, err := f.erasure().Run(t.Context())
	f.must(err)
	if done.Erasable != want || len(done.ErasureIDs) == 0 {
		t.Errorf("erased %+v, want %+v", done, want)
	}
	f.awaitLevel()
	f.nowhere("", erasedContent, base64.RawURLEncoding.EncodeToString([]byte(erasedContent)))
	after, messages := f.untouched()
	if want := uint64(len(before)) - want.Messages() - want.Copies; after != rows || uint64(len(messages)) != want {
		t.Errorf("%d rows and %d messages are left, want %d and %d", after, len(messages), rows, want)
	}
	for _, m := range messages {
		if !slices.Contains(before, m) {
			t.Errorf("a message that was not there: %s", m)
		}
	}
	if n := f.count("SELECT count() FROM log_hashes FINAL"); n != leaves+uint64(len(done.ErasureIDs)) {
		t.Errorf("%d leaves, want %d and the leaves of the facts", n, leaves)
	}
	if n := f.count("SELECT count() FROM recorded_events WHERE event_type = 'context.erasure.applied' AND startsWith(JSONExtractString(data, 'erased_subject'), 'hmac-sha256:') AND NOT position(data, 'user-812') > 0"); n != uint64(len(done.ErasureIDs)) {
		t.Errorf("%d facts of %v", n, done.ErasureIDs)
	}

	const named = "SELECT sum(arrayCount(r -> JSONExtractString(r, 'source') != '' AND JSONExtractString(r, 'session_id') = 'sess-7f3a', JSONExtractArrayRaw(data, 'records'))) FROM recorded_events WHERE event_type = 'context.erasure.applied'"
	if n, golden := f.count(named), uint64(len(schema.Types())-4); n < golden {
		t.Errorf("%d erased records are named with their source and session, want at least %d", n, golden)
	}

	again, err := f.erasure().Run(t.Context())
	f.must(err)
	if !again.IsZero() || len(again.ErasureIDs) != 0 {
		t.Errorf("the second time: %+v", again)
	}
	// A projector that starts again finds nothing to mend, and a rebuild the same rows.
	stop()
	log := new(logbook)
	f.must(f.run(f.guarded(log)))
	if strings.Contains(log.String(), "tables_behind") || strings.Contains(log.String(), "rows_restored") {
		t.Error(log)
	}
	r := f.rebuild()
	r.CompareOnly, r.Log = true, slog.New(slog.NewTextHandler(log, nil))
	if done := f.rebuilt(r); len(done.Compared.Differences) > 0 {
		t.Errorf("a rebuild differs: %+v", done.Compared.Differences)
	}
	if strings.Contains(log.String(), "sequence_gap") {
		t.Errorf("an erased sequence is reported as lost: %s", log)
	}
}

// TestErasureCutOff interrupts an erasure after each of its steps, and runs it again.
func TestErasureCutOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := f.publishSubject()
	f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	for _, point := range []string{"tell", "await", "delete"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		crash := errors.New("killed at " + point)
		e := f.erasure()
		e.Steps = atEach(func(at string) {
			if at == point {
				cancel(crash)
			}
		})
		if _, err := e.Run(ctx); err == nil || context.Cause(ctx) != crash {
			t.Fatalf("%s: %v", point, err)
		}
		f.must(f.run(f.guarded(new(logbook)))) // a projector can start at every intermediate state
	}
	// The deletion of rows is interrupted: only the rows of events remain.
	f.must(f.sql.Exec(t.Context(), `ALTER TABLE items DELETE WHERE (incarnation, stream_seq) IN
		(SELECT incarnation, stream_seq FROM events WHERE resource_id = ?) SETTINGS mutations_sync = 1`, erasedSubject))
	done, err := f.erasure().Run(t.Context())
	f.must(err)
	if want.Copies = 0; done.Erasable != want || len(done.ErasureIDs) != 0 {
		t.Errorf("erased %+v in the end, want %+v", done, want)
	}
	f.awaitLevel()
	f.nowhere("", erasedContent)
	if n := f.count("SELECT count() FROM recorded_events WHERE event_type = 'context.erasure.applied'"); n != 2 {
		t.Errorf("%d facts, want one a tenant", n)
	}
	r := f.rebuild()
	r.CompareOnly = true
	if done := f.rebuilt(r); len(done.Compared.Differences) > 0 {
		t.Errorf("a rebuild differs: %+v", done.Compared.Differences)
	}
}

// TestErasedContentCannotBeGuessed searches for a trace of a known event in all remaining data.
// Each event was a separate commit, so the digest of the range covers only that event.
func TestErasedContentCannotBeGuessed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(of("user-1", 1, "is none of it").Binary())
	victim := of(erasedSubject, 2, erasedContent)
	f.publish(victim.Binary())
	f.flush()
	p := f.guarded(new(logbook))
	p.config.BatchMessages = 1
	f.follow(p)
	f.await("each event is a commit", func() bool { return f.count("SELECT count() FROM commits") == 2 })
	msg, err := f.stream().GetMsg(t.Context(), 2)
	f.must(err)
	_, incarnation, err := streamio.OpenStream(t.Context(), f.js, schema.EventStream)
	f.must(err)
	place := ledger.Position{Incarnation: incarnation, StreamSeq: 2, RecordedAt: msg.Time}
	whole := streamio.RangeOf([]*streamio.Message{{Subject: msg.Subject, Header: msg.Header, Data: msg.Data, Position: place}}).Digest
	ring, err := testLogRing()
	f.must(err)
	salt := proof.NewSalter(ring.Secret).Salt(victim.Tenant, victim.SessionID, victim.Source, victim.ID)

	// The values that can be computed from the content without a secret.
	secret, err := proof.SecretOf(make([]byte, 32))
	f.must(err)
	guessed := proof.NewSalter(secret).Salt(victim.Tenant, victim.SessionID, victim.Source, victim.ID)
	data, event, none, other := sha256.Sum256(victim.Data), victim.Digest(), proof.Leaf(victim, proof.Salt{}), proof.Leaf(victim, guessed)
	var guesses []string
	for _, digest := range [][32]byte{data, event, whole, none, other} {
		guesses = append(guesses, string(digest[:]), hex.EncodeToString(digest[:]), base64.StdEncoding.EncodeToString(digest[:]))
	}
	guesses = append(guesses, victim.MessageID(), victim.ID)

	before := f.traces(guesses...)
	if before < 2 {
		t.Fatalf("the attack finds %d traces where nothing is erased: it can find none", before)
	}
	_, err = f.erasure().Run(t.Context())
	f.must(err)
	f.awaitLevel()
	if n := f.traces(guesses...); n != 0 {
		t.Errorf("%d traces of the content are left", n)
	}
	leaf := proof.Leaf(victim, salt) // the salt makes the leaf computable
	if n := f.traces(string(leaf[:])); n == 0 {
		t.Error("the leaf is gone, too")
	}
}

// traces counts the rows and messages that hold one of the texts.
func (f *fixture) traces(texts ...string) (n uint64) {
	f.t.Helper()
	var needles []string
	for _, text := range texts {
		needles = append(needles, fmt.Sprintf("unhex('%x')", text))
	}
	rows, err := f.sql.Query(f.t.Context(), `SELECT table, arrayStringConcat(groupArray(concat('toString(', name, ')')), ', ') FROM system.columns
		WHERE database = currentDatabase() AND table NOT IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View') GROUP BY table`)
	f.must(err)
	for rows.Next() {
		var table, columns string
		f.must(rows.Scan(&table, &columns))
		n += f.count(fmt.Sprintf("SELECT count() FROM %s WHERE multiSearchAny(concatWithSeparator('|', %s), [%s])", table, columns, strings.Join(needles, ", ")))
	}
	f.must(rows.Err())
	for _, name := range []string{schema.EventStream, schema.QuarantineStream, schema.NoticeStream} {
		for line := range strings.Lines(f.wholeStream(name)) {
			if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
				n++
			}
		}
	}
	return n
}

func TestErasureNeedsAProjector(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(of(erasedSubject, 1, erasedContent).Binary())
	f.project()
	e := f.erasure()
	e.Patience = quickTiming.Heartbeat
	if _, err := e.Run(t.Context()); !errors.Is(err, erasure.ErrNotProjected) {
		t.Fatal(err)
	}
	if _, err := f.stream().GetMsg(t.Context(), 1); err != nil {
		t.Errorf("it is gone before the fact is there: %v", err)
	}
	f.project()
	f.must(func() error { _, err := e.Run(t.Context()); return err }())
	f.nowhere("", erasedContent)
}

// TestErasedItemReadsExpired: references to the item find it without content. The item was
// erased by its own id or as an item of a data subject.
func TestErasedItemReadsExpired(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"item:note-1", erasedSubject} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			ids := schema.Correlation{Tenant: "acme", SessionID: "s-1", TurnID: "t-1", ResourceID: "user-1"}
			for i, fact := range []schema.Fact{
				&schema.ItemAdded{Item: schema.Item{ItemID: "note-1", ContextKind: "note", Title: erasedContent, ContentMode: schema.ContentRef, ContentRef: "blob:1"}},
				&schema.ItemAdded{Item: schema.Item{ItemID: "note-2", ContextKind: "note", Title: "of user-1 and now of both"}},
				&schema.ItemUpdated{Item: schema.Item{ItemID: "note-2", ContextKind: "note", Title: erasedContent}},
				&schema.AssemblyCreated{AssemblyID: "a-1", CallID: "c-1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b-1", ItemRefs: schema.Refs("note-1")}, {Block: "b-2", ItemRefs: schema.Refs("note-2")}}},
			} {
				of := ids
				if i == 0 || i == 2 && subject == erasedSubject {
					of.ResourceID = erasedSubject
				}
				e, err := schema.NewEvent(fact, fmt.Sprint("event-", i), "urn:test", projectortest.Stored, of)
				f.must(err)
				f.publish(e.Binary())
			}
			f.follow(f.guarded(new(logbook)))
			f.awaitLevel()
			e := f.erasure()
			var err error
			e.Subject, err = ledger.ParseSubject(subject)
			f.must(err)
			if done, err := e.Run(t.Context()); err != nil || done.IsZero() {
				t.Fatalf("%+v, %v", done, err)
			}
			if subject == erasedSubject {
				f.nowhere("", erasedContent)
			}
			const blocks = "SELECT count() FROM turn_window WHERE session_id = 's-1' AND turn_id = 't-1' AND "
			if n := f.count(blocks + "item_refs = ['note-1'] AND redaction_state = 'expired' AND title = ''"); n != 1 {
				t.Errorf("%d blocks have an expired item, want 1", n)
			}
			if n := f.count(blocks + "item_refs = ['note-2'] AND redaction_state = ''"); n != 1 {
				t.Errorf("%d blocks have the item of which a version is left, want 1", n)
			}
		})
	}
}

// walk is a walker that is a function.
type walk func(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error

func (w walk) Walk(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
	return w(ctx, list, take)
}

// TestErasureThatMeetsARebuild: an erasure has looked for a rebuild and found none. A rebuild then
// makes its tables, and notes the last commit. It projects and compares between the two deletions of
// the erasure, and reports a difference. Both commands are complete when they are repeated.
func TestErasureThatMeetsARebuild(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(of(erasedSubject, 1, erasedContent).Binary())
	f.publish(of("user-1", 2, "is none of it").Binary())
	f.flush()
	stop := f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	r, noted, deleted, ended := f.rebuild(), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	r.Steps = walk(func(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
		if list[0].Verb == pointProjected {
			close(noted)
			<-deleted
		}
		return steps.InOrder{}.Walk(ctx, list, take)
	})
	e := f.erasure()
	first := true
	e.Steps = walk(func(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
		if !first {
			return steps.InOrder{}.Walk(ctx, list, take)
		}
		first = false
		go func() {
			_, err := r.Run(t.Context())
			ended <- err
		}()
		<-noted
		return atEach(func(point string) {
			if point != "delete" {
				return
			}
			close(deleted)
			if err := <-ended; !errors.Is(err, rebuild.ErrDiffer) {
				t.Errorf("the rebuild between the deletions ends with %v", err)
			}
		}).Walk(ctx, list, take)
	})
	if _, err := e.Run(t.Context()); !errors.Is(err, erasure.ErrRebuilding) {
		t.Errorf("the erasure ends with %v", err)
	}
	if done, err := f.rebuild().Run(t.Context()); err != nil || !done.Swapped {
		t.Errorf("the repeated rebuild: %+v, %v", done, err)
	}
	if _, err := f.erasure().Run(t.Context()); err != nil {
		t.Errorf("the repeated erasure: %v", err)
	}
	if n := f.count("SELECT count() FROM recorded_events WHERE resource_id = 'user-812' AND event_type != 'context.erasure.applied'"); n != 0 {
		t.Errorf("%d events of the subject remain", n)
	}
	stop()
	r = f.rebuild()
	r.CompareOnly = true
	if done := f.rebuilt(r); len(done.Compared.Differences) > 0 {
		t.Errorf("a rebuild differs: %+v", done.Compared.Differences)
	}
}
