package projector

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// A logbook keeps the log of a projector, at every level.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// guarded returns a projector that has the tenant's keys.
func (f *fixture) guarded(log *logbook) *Projector {
	f.t.Helper()
	p := f.projector()
	p.config.Keys = projectortest.Keys(f.t)
	p.config.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return p
}

func (f *fixture) publishDisguises(first int) int {
	f.t.Helper()
	all := projectortest.Disguises(first, projectortest.Secret)
	for _, m := range all {
		f.publish(m)
	}
	f.flush()
	return len(all)
}

// nowhere searches for a trace in every column of every table, in both streams and in the log.
func (f *fixture) nowhere(log string, traces ...string) {
	f.t.Helper()
	var needles []string
	for _, trace := range traces {
		needles = append(needles, fmt.Sprintf("unhex('%x')", trace))
	}
	tables, err := f.sql.Query(f.t.Context(), `SELECT table, arrayStringConcat(groupArray(concat('toString(', name, ')')), ', ') FROM system.columns
		WHERE database = currentDatabase() AND table NOT IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View') GROUP BY table`)
	f.must(err)
	looked := 0
	for tables.Next() {
		var table, columns string
		f.must(tables.Scan(&table, &columns))
		looked++
		for part := range slices.Chunk(needles, 200) {
			sql := fmt.Sprintf("SELECT count() FROM %s WHERE multiSearchAny(concatWithSeparator('|', %s), [%s])", table, columns, strings.Join(part, ", "))
			if n := f.count(sql); n > 0 {
				f.t.Errorf("%d rows of %s have a withheld value, see: %s", n, table, sql)
			}
		}
	}
	f.must(tables.Err())
	if looked < 15 {
		f.t.Fatalf("looked at %d tables only", looked)
	}
	texts := map[string]string{"the log": log, schema.EventStream: f.wholeStream(schema.EventStream), schema.QuarantineStream: f.wholeStream(schema.QuarantineStream), schema.NoticeStream: f.wholeStream(schema.NoticeStream)}
	for where, text := range texts {
		for _, trace := range traces {
			if strings.Contains(text, trace) {
				f.t.Errorf("%s holds %q", where, trace)
			}
		}
	}
}

// wholeStream returns the whole content of a stream, as text.
func (f *fixture) wholeStream(name string) string {
	f.t.Helper()
	stream, err := f.js.Stream(f.t.Context(), name)
	f.must(err)
	var all strings.Builder
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		msg, err := stream.GetMsg(f.t.Context(), seq)
		if err == nil {
			fmt.Fprintln(&all, seq, msg.Subject, msg.Header, string(msg.Data))
		}
	}
	return all.String()
}

// allTraces returns the forms of the withheld values, and the digests of message ids and ranges
// with them.
func allTraces() []string {
	var list []string
	for _, value := range projectortest.WithheldValues {
		list = append(list, projectortest.TracesOf(value)...)
	}
	for _, m := range projectortest.Disguises(100, projectortest.Secret) {
		sum := sha256.Sum256(m.Data)
		list = append(list, string(sum[:]), hex.EncodeToString(sum[:]))
		list = append(list, m.Header[schema.MsgIDHeader]...)
	}
	return list
}

func TestReintroducedValuesAreNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := new(logbook)
	f.publishMix(0, 30)
	f.publish(projectortest.Redaction(t, 1, projectortest.WithheldValues...).Binary())
	hits := f.publishDisguises(100)
	f.publishMix(1000, 30)
	p := f.guarded(log)
	f.must(f.run(p))
	f.must(f.run(f.guarded(log))) // after a restart it reads the fingerprints from the ledger
	hits += f.publishDisguises(200)
	f.publish(projectortest.Redaction(t, 2, projectortest.Secret).Binary())
	f.must(f.run(f.guarded(log)))

	f.nowhere(log.String(), allTraces()...)
	if n := f.count("SELECT count() FROM quarantine WHERE code = 'redaction_reintroduced' AND position(concat(data, header, stream_subject, reason), '[redacted') > 0"); n != uint64(hits) {
		t.Errorf("%d of %d messages are in quarantine, masked", n, hits)
	}
	if n := f.count("SELECT count() FROM redactions"); n != 2 {
		t.Errorf("%d redactions are recorded, want 2", n)
	}
	state := f.stream().CachedInfo().State
	if state.Msgs != state.LastSeq-uint64(hits) {
		t.Errorf("%d messages of %d are in the stream, %d were to be deleted", state.Msgs, state.LastSeq, hits)
	}
	if commits := f.count("SELECT sum(messages) FROM commits FINAL"); commits != state.LastSeq {
		t.Errorf("commits counts %d messages of %d", commits, state.LastSeq)
	}
	if got := f.guarded(log); f.run(got) != nil || got.Status().Events > 0 {
		t.Errorf("another start projects %+v", got.Status())
	}
}

// The same value before its redaction is in a normal event, also in the same batch. The event
// again after the redaction is no duplicate.
func TestReintroducedInOneBatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := new(logbook)
	early := projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary()
	for _, m := range []schema.Message{early, projectortest.Redaction(t, 1, projectortest.Secret).Binary(), early, projectortest.Foreign(2, `{"note":"`+projectortest.Secret+`"}`).Binary(), projectortest.Redaction(t, 1, projectortest.Secret).Binary()} {
		f.publish(m)
	}
	p := f.guarded(log)
	f.must(f.run(p))
	if got, want := p.Status(), (Status{Committed: 5, Events: 2, Quarantined: 2, Duplicates: 1}); got != want {
		t.Errorf("projected %+v, want %+v", got, want)
	}
	if n := f.count("SELECT count() FROM events WHERE position(data, '" + projectortest.Secret + "') > 0 AND stream_seq = 1"); n != 1 {
		t.Error("the event from before the redaction is not there")
	}
	if state := f.stream().CachedInfo().State; state.Msgs != 3 {
		t.Errorf("the stream has %d messages, want 3", state.Msgs)
	}
}

func TestReintroducedKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	keys := childKeys + "=" + string(projectortest.KeyRing(t).Format())
	for _, point := range []string{pointBuilt, pointJournalled, pointQuarantined, pointWritten, pointCommitted, pointDeleted} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			log := new(logbook)
			for id := range 10 {
				f.publish(projectortest.Event(id, 0).Binary())
			}
			f.publish(projectortest.Redaction(t, 1, projectortest.WithheldValues...).Binary())
			hits := f.publishDisguises(100) // from the first batch into the second
			for id := range 15 {
				f.publish(projectortest.Event(1000+id, 0).Binary())
			}
			f.flush()
			for round, visit := range []string{"1", "2", "1"} {
				cmd := f.child(childPoint+"="+point, childVisit+"="+visit, keys)
				cmd.Stderr = log
				if err := cmd.Run(); exitCode(err) != -1 && round == 0 {
					t.Fatalf("the child was not killed: %v", err)
				}
			}
			f.must(f.run(f.guarded(log)))
			f.nowhere(log.String(), allTraces()...)
			for _, modifier := range []string{"", "FINAL"} {
				if n := f.count("SELECT count() FROM quarantine " + modifier + " WHERE code = 'redaction_reintroduced'"); n != uint64(hits) {
					t.Errorf("%d messages are in quarantine, want %d", n, hits)
				}
				if n := f.count("SELECT count() FROM events " + modifier); n != 26 {
					t.Errorf("%d events, want 26", n)
				}
			}
			if state := f.stream().CachedInfo().State; state.Msgs != 26 {
				t.Errorf("the stream has %d messages, want 26", state.Msgs)
			}
		})
	}
}

// A crash between commit and deletion, and a replaced stream: no message of the new stream is
// deleted.
func TestReintroducedInAStreamRestored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publish(projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary())
	log := new(logbook)
	p := f.guarded(log)
	f.must(f.run(p))
	p.source.Stream = f.stream()
	f.publish(projectortest.Event(3, 0).Binary())
	f.flush()
	info, err := p.source.Stream.GetMsg(t.Context(), 3)
	f.must(err)
	f.must(p.deleteWithheld(t.Context(), []ledger.Position{{Incarnation: p.source.Incarnation, StreamSeq: 3, RecordedAt: info.Time.Add(1)}}))
	if _, err := p.source.Stream.GetMsg(t.Context(), 3); err != nil {
		t.Errorf("another message at the sequence was deleted: %v", err)
	}
}

func TestReintroducedWithoutTheKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := new(logbook)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publish(projectortest.Redaction(t, 2, projectortest.Secret).Binary())
	f.publish(projectortest.Event(1, 0).Binary())
	p := f.guarded(log)
	p.config.Keys = nil
	f.must(f.run(p))
	if got, want := p.Status(), (Status{Committed: 3, Events: 3, UnknownKeys: 1}); got != want {
		t.Errorf("projected %+v, want %+v", got, want)
	}
	if n := strings.Count(log.String(), "not recognised"); n != 1 {
		t.Errorf("the log says %d times that a key is not there:\n%s", n, log)
	}

	// The key is added while a projector runs: it counts from the next redaction on.
	var there sync.Map
	p = f.guarded(log)
	keys := p.config.Keys
	p.config.Keys = func() ([]schema.KeyRing, error) {
		if _, ok := there.Load("key"); ok {
			return keys()
		}
		return nil, nil
	}
	stop := f.follow(p)
	f.await("it is ready", func() bool { return p.Status().Ready })
	there.Store("key", true)
	f.publish(projectortest.Redaction(t, 3, "another secret").Binary())
	f.publish(projectortest.Foreign(2, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.awaitLevel()
	f.await("the message is deleted", func() bool { return f.stream().CachedInfo().State.Msgs == 4 })
	f.must(stop())
	if got := p.Status(); got.Quarantined != 1 || got.UnknownKeys != 0 {
		t.Errorf("projected %+v", got)
	}
}

// A stream that refuses deletions is reported, and projected.
func TestReintroducedInAStreamThatKeepsAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	config := f.stream().CachedInfo().Config
	f.must(f.js.DeleteStream(t.Context(), schema.EventStream))
	config.DenyDelete = true
	f.await("the stream is there again", func() bool {
		_, err := f.js.CreateStream(t.Context(), config)
		return err == nil
	})
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publish(projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.publish(projectortest.Event(2, 0).Binary())
	log := new(logbook)
	f.must(f.run(f.guarded(log)))
	if !strings.Contains(log.String(), "delete the message by hand") || strings.Contains(log.String(), projectortest.Secret) {
		t.Errorf("the log says\n%s", log)
	}
}

// The places in a comparison leave the messages unchanged: a range whose rows a table lost is
// derived from the messages.
func TestPlacesLeaveTheMessagesAlone(t *testing.T) {
	t.Parallel()
	messages := make([]*streamio.Message, 0, 10)
	for _, seq := range []uint64{1, 3, 4, 6} {
		messages = append(messages, projectortest.At(seq, projectortest.Event(int(seq), 0).Binary()))
	}
	before := slices.Clone(messages)
	placed := streamio.WithPlaces(messages, []ledger.Position{projectortest.At(2, schema.Message{}).Position, projectortest.At(4, schema.Message{}).Position, projectortest.At(5, schema.Message{}).Position})
	if len(placed) != 6 || !slices.Equal(messages, before) {
		t.Errorf("%d messages with places, and the messages became %v", len(placed), messages)
	}
}

// TestARedactionThatProtectsNothingIsSaid: once for each tenant.
func TestARedactionThatProtectsNothingIsSaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publish(projectortest.Redaction(t, 2).Binary())
	f.publish(projectortest.Redaction(t, 3).Binary())
	f.flush()
	log := new(logbook)
	f.must(f.run(f.guarded(log)))
	if n := strings.Count(log.String(), "event=redaction_unprotected tenant=acme sequence=2"); n != 1 || strings.Count(log.String(), "redaction_unprotected") != 1 {
		t.Errorf("it is said %d times: %s", n, log)
	}
}
