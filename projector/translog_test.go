package projector

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/signing"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// ringOf returns a ring whose secret and key are derived from b, so that all processes of a
// test have the same ring.
func ringOf(b byte) func() (proof.Ring, error) {
	seed := slices.Repeat([]byte{b}, ed25519.SeedSize)
	public, err := note.NewEd25519VerifierKey("test", ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	text := "name test\nsecret " + base64.StdEncoding.EncodeToString(seed) +
		"\nkey 2026-01-01T00:00:00Z PRIVATE+KEY+" + strings.Join(strings.SplitN(public, "+", 3)[:2], "+") + "+" +
		base64.StdEncoding.EncodeToString(append([]byte{1}, seed...)) + "\n"
	return func() (proof.Ring, error) { return proof.ParseRing([]byte(text)) }
}

var testLogRing = ringOf(7)

// loggedEvent holds the columns of an event that the oracle reads.
type loggedEvent struct {
	seq  uint64
	leaf tlog.Hash
}

// leavesOfEvents computes the leaf of every event of the stream from the table events, in the
// order of the stream. leavesOfEvents shares only the formula of a leaf with the projector.
func (f *fixture) leavesOfEvents() (leaves []loggedEvent) {
	f.t.Helper()
	rows, err := f.sql.Query(f.t.Context(), `SELECT e.stream_seq, e.salt, e.event_id, toString(e.source), toString(e.type_attribute), e.subject, e.event_time,
		e.data_content_type, e.data_schema, e.sequence, e.partition_key, e.correlation_id, e.causation_id, e.recorded_time, e.traceparent,
		e.tracestate, e.data_classification, e.extensions, e.data, `+strings.Join(correlationColumns(), ", ")+`
		FROM events AS e FINAL WHERE incarnation = ? ORDER BY stream_seq`, f.incarnation())
	f.must(err)
	defer rows.Close()
	for rows.Next() {
		var e schema.Event
		var seq uint64
		var salt, data string
		var at time.Time
		var recorded *time.Time
		into := []any{&seq, &salt, &e.ID, &e.Source, &e.Type, &e.Subject, &at, &e.DataContentType, &e.DataSchema, &e.Sequence, &e.PartitionKey,
			&e.CorrelationID, &e.CausationID, &recorded, &e.TraceParent, &e.TraceState, &e.DataClassification, &e.Extensions, &data}
		for _, c := range schema.CorrelationFields {
			into = append(into, c.Of(&e.Correlation))
		}
		f.must(rows.Scan(into...))
		e.Time, e.Data = at.UTC(), []byte(data)
		if recorded != nil {
			e.RecordedTime = recorded.UTC()
		}
		leaves = append(leaves, loggedEvent{seq, proof.Leaf(&e, proof.Salt([]byte(salt)))})
	}
	f.must(rows.Err())
	return leaves
}

func correlationColumns() (columns []string) {
	for _, c := range schema.CorrelationFields {
		columns = append(columns, "toString(e."+c.Column+")")
	}
	return columns
}

// logged is the oracle of the transparency log, for a level ledger. log_hashes must have the
// leaves of the table events and of erased messages. Their root must be in the last commit and
// in every signed head. Proofs must be possible.
func (f *fixture) logged(erased ...loggedEvent) tlog.Hash {
	f.t.Helper()
	leaves := append(f.leavesOfEvents(), erased...)
	slices.SortFunc(leaves, func(a, b loggedEvent) int { return cmp.Compare(a.seq, b.seq) })
	var tree proof.Tree
	roots := []tlog.Hash{tree.Root()}
	for _, l := range leaves {
		tree.Append(l.leaf, nil)
		roots = append(roots, tree.Root())
	}
	want := tree.Root()
	incarnation := uuid.MustParse(f.incarnation())
	log, err := translog.Of(f.ledger).LogAt(f.t.Context(), incarnation, 1<<62)
	f.must(err)
	if log.Root != want || log.Tree.Size != int64(len(leaves)) {
		var hashes []string
		f.must(f.sql.QueryRow(f.t.Context(), "SELECT groupArray(hash) FROM (SELECT hash FROM log_hashes FINAL WHERE incarnation = ? ORDER BY log_index)", incarnation).Scan(&hashes))
		for i, l := range leaves[:min(len(leaves), len(hashes))] {
			if string(l.leaf[:]) != hashes[i] {
				f.t.Errorf("leaf %d, of sequence %d, is another", i, l.seq)
				break
			}
		}
		f.t.Errorf("the log of %d events has the root %v; by the last commit it has %d leaves and the root %v", len(leaves), want, log.Tree.Size, log.Root)
		return want
	}
	var sequences []uint64
	f.must(f.sql.QueryRow(f.t.Context(), "SELECT groupArray(stream_seq) FROM (SELECT stream_seq FROM log_hashes FINAL WHERE incarnation = ? ORDER BY log_index)", incarnation).Scan(&sequences))
	if !slices.EqualFunc(sequences, leaves, func(seq uint64, l loggedEvent) bool { return seq == l.seq }) {
		f.t.Errorf("log_hashes has the sequences %v, want %v", sequences, leaves)
	}
	reader := tlog.TileHashReader(tlog.Tree{N: int64(len(leaves)), Hash: want}, translog.Of(f.ledger).LogTiles(f.t.Context(), incarnation))
	for n := 0; n < len(leaves); n += 1 + len(leaves)/7 {
		found, err := tlog.ProveRecord(int64(len(leaves)), int64(n), reader)
		if err == nil {
			err = tlog.CheckRecord(found, int64(len(leaves)), want, int64(n), leaves[n].leaf)
		}
		if err != nil {
			f.t.Errorf("leaf %d of %d: %v", n, len(leaves), err)
		}
	}
	for _, head := range f.heads() {
		if head.Size > tree.Size || roots[head.Size] != head.Root {
			f.t.Errorf("a signed head gives %d leaves the root %v", head.Size, head.Root)
		}
	}
	return want
}

// heads returns the verified signed heads of the table.
func (f *fixture) heads() (heads []proof.Checkpoint) {
	f.t.Helper()
	ring, err := testLogRing()
	f.must(err)
	rows, err := f.sql.Query(f.t.Context(), "SELECT note FROM checkpoints FINAL WHERE incarnation = ? ORDER BY tree_size", f.incarnation())
	f.must(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		f.must(rows.Scan(&text))
		opened, err := proof.Open([]byte(text), ring.Verifiers())
		f.must(err)
		heads = append(heads, opened.Checkpoint)
	}
	f.must(rows.Err())
	return heads
}

// TestLogOfMixture: the events are mixed with quarantined messages, repeats and conflicts, in
// batches and starts of several sizes.
func TestLogOfMixture(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 3 {
		f.publishAll(1 + 400*round)
		f.project()
		f.logged()
	}
	if n := f.count("SELECT uniqExact(tree_size) FROM commits"); n < 5 {
		t.Errorf("the log was committed in %d states", n)
	}
}

// TestHeads: when the projector ends, the last head is signed once and is in the table, the
// stream and every sink. A failed delivery is tried again.
func TestHeads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var taken []string
	failures := 1
	p := f.projector()
	p.config.Signing = signing.Config{Every: 5, Interval: time.Hour, Sinks: []signing.Sink{{Name: "outside", Put: func(_ context.Context, stream string, note []byte) error {
		if failures--; failures >= 0 {
			return errors.New("not now")
		}
		taken = append(taken, stream+" "+string(note))
		return nil
	}}}}
	stop := f.follow(p)
	f.publishMix(1, 60)
	f.awaitLevel()
	f.await("a head of the whole log outside", func() bool {
		log, err := translog.Of(f.ledger).LogAt(t.Context(), uuid.MustParse(f.incarnation()), 1<<62)
		f.must(err)
		heads := f.heads()
		return len(heads) > 0 && heads[len(heads)-1].Size == log.Tree.Size && f.copies() > 0
	})
	f.must(stop())
	f.logged()
	if p.signer != nil {
		t.Error("a recovery would tell a signer that has ended")
	}
	heads := f.heads()
	if len(taken) == 0 || !strings.HasPrefix(taken[len(taken)-1], schema.EventStream+" "+heads[len(heads)-1].Text()) {
		t.Errorf("outside are %q", taken)
	}
	// A start without new events signs nothing.
	before := f.copies()
	f.project()
	if now := f.copies(); now != before {
		t.Errorf("there were %d heads in the stream and are %d", before, now)
	}
}

// copies counts the heads in their stream.
func (f *fixture) copies() uint64 {
	f.t.Helper()
	stream, err := f.js.Stream(f.t.Context(), schema.CheckpointStream)
	f.must(err)
	return stream.CachedInfo().State.Msgs
}

// TestLogGoesOnAfterATakeOver: the successor of a dead projector continues its transparency
// log. The root equals the root of an uninterrupted log.
func TestLogGoesOnAfterATakeOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 60)
	f.flush()
	for i, point := range []string{pointWritten, pointJournalled} {
		f.crash(point, 1+i) // also in a takeover
	}
	f.publishMix(200, 20)
	f.flush()
	p := f.projector()
	p.config.Owner = "another"
	f.must(f.run(p))
	root := f.logged()
	r := f.rebuild()
	r.CompareOnly = true
	var rebuilt string
	r.Steps = atEach(func(point string) {
		if point == pointCompared {
			var database string
			f.must(f.sql.QueryRow(t.Context(), "SELECT currentDatabase()").Scan(&database))
			f.must(f.sql.QueryRow(t.Context(), "SELECT argMax(tree_root, last_seq) FROM "+database+"_rebuild.commits").Scan(&rebuilt))
		}
	})
	if f.rebuilt(r); rebuilt != string(root[:]) {
		t.Errorf("the log ends with the root %v, a rebuilt one with %x", root, rebuilt)
	}
}

// TestNoSecret: a projector without the secret does not write to a ledger with a transparency
// log.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(1, 20)
	f.project()
	f.publishMix(21, 20)
	p := f.projector()
	p.config.Ring = nil
	if err := f.run(p); !errors.Is(err, decode.ErrNoSecret) {
		t.Errorf("projected without the secret: %v", err)
	}
	r := f.rebuild()
	r.Ring = nil
	if _, err := r.Run(t.Context()); !errors.Is(err, decode.ErrNoSecret) {
		t.Errorf("rebuilt without the secret: %v", err)
	}
	f.project()
	f.logged()
	r = f.rebuild()
	r.Ring, r.CompareOnly = ringOf(8), true
	done, err := r.Run(t.Context())
	if !errors.Is(err, rebuild.ErrDiffer) || len(done.Compared.Differences) != 2 {
		t.Errorf("rebuilt with another secret: %v, %+v", err, done.Compared.Differences)
	}
}

// TestLogBeginsLate: a ledger that began without a transparency log has one from its next
// commit on. A rebuild keeps that beginning. A table that lost rows from before and after it is
// repaired.
func TestLogBeginsLate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(1, 50)
	p := f.projector()
	p.config.Ring = nil
	f.must(f.run(p))
	f.publishMix(51, 50)
	f.project()
	start := f.count("SELECT min(stream_seq) FROM log_hashes")
	if start < 50 || f.count("SELECT count() FROM log_hashes") != f.count(fmt.Sprintf("SELECT count() FROM events WHERE stream_seq >= %d", start)) {
		t.Errorf("the log begins at %d", start)
	}
	f.sameAgain()
	f.exec("DELETE FROM events WHERE stream_seq > 30", "DELETE FROM log_items WHERE stream_seq > 30", "DELETE FROM log_hashes WHERE stream_seq > 70")
	f.project()
	f.sameAgain()
	if got := f.rebuilt(f.rebuild()); !got.Swapped {
		t.Errorf("rebuilt %+v", got)
	}
	f.publishMix(101, 30)
	f.project()
	f.sameAgain()
}

// TestErased: an erased message keeps its place in the transparency log: in a rebuild, in new
// tables, and in a repaired table. The next start does not take the stream for another one.
func TestErased(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(1, 90)
	f.project()
	root := f.logged()
	all := f.leavesOfEvents()
	// The first and the last event, one in the middle, and two consecutive ones.
	erased := []loggedEvent{all[0], all[1], all[20], all[21], all[len(all)-1]}
	var records []schema.ErasedRecord
	for _, e := range erased {
		records = append(records, schema.ErasedRecord{Stream: schema.EventStream, Sequence: int64(e.seq), Leaf: hex.EncodeToString(e.leaf[:])})
	}
	records = append(records, schema.ErasedRecord{Stream: schema.EventStream, Sequence: int64(all[30].seq), Leaf: strings.Repeat("00", 32)}, // still in the stream
		schema.ErasedRecord{Stream: schema.EventStream, Sequence: 1 << 40, Leaf: strings.Repeat("00", 32)}) // not yet in the stream
	fact, err := schema.NewEvent(&schema.ErasureApplied{
		Common: schema.Common{PolicyRefs: schema.Refs("policy:erasure")}, ErasureID: "erasure-1", ErasedSubject: "somebody", Reason: "asked for", Records: records,
	}, "erasure-1", "urn:test", time.Unix(1_750_000_000, 0), schema.Correlation{Tenant: "acme", SessionID: "erasures"})
	f.must(err)
	var repeats []uint64 // an erasure also removes repeats, because they have the same content
	for _, e := range erased {
		f.must(f.sql.QueryRow(t.Context(), "SELECT groupArray(stream_seq) FROM duplicates WHERE first_seq = ?", e.seq).Scan(&repeats))
		for _, seq := range repeats {
			f.must(f.stream().DeleteMsg(t.Context(), seq))
			f.exec(fmt.Sprintf("DELETE FROM duplicates WHERE stream_seq = %d", seq))
		}
		f.must(f.stream().DeleteMsg(t.Context(), e.seq))
		f.exec(fmt.Sprintf("DELETE FROM events WHERE stream_seq = %d", e.seq), fmt.Sprintf("DELETE FROM log_items WHERE stream_seq = %d", e.seq))
	}
	f.publish(fact.Binary())
	f.flush()
	f.project()
	if again := f.logged(erased...); again == root {
		t.Error("the fact of the erasure is not in the log")
	}
	f.sameAgain()
	f.exec("DELETE FROM log_hashes WHERE stream_seq > 5")
	f.project()
	f.logged(erased...)
	if got := f.rebuilt(f.rebuild()); !got.Swapped {
		t.Errorf("rebuilt %+v", got)
	}
	want := f.logged(erased...)
	var tables []string
	f.must(f.sql.QueryRow(t.Context(), "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND engine = 'ReplacingMergeTree' AND name NOT IN ('migrations', 'definitions', 'prices', 'limits', 'checkpoints')").Scan(&tables))
	for _, table := range tables {
		f.exec("TRUNCATE TABLE " + table)
	}
	f.project()
	if got := f.logged(erased...); got != want {
		t.Errorf("the log of new tables has the root %v, not %v", got, want)
	}
}

// TestHeadSinkThatHangs: neither the projection nor the end of a projector waits for a sink
// that accepts no heads.
func TestHeadSinkThatHangs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	asked := make(chan struct{}, 100)
	p := f.projector()
	p.config.Signing = signing.Config{Every: 5, Interval: time.Hour, Sinks: []signing.Sink{{Name: "outside", Put: func(ctx context.Context, _ string, _ []byte) error {
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}}}
	stop := f.follow(p)
	f.publishMix(1, 20)
	await(t, asked, "a head at the place outside")
	f.publishMix(21, 20)
	f.awaitLevel()
	began := time.Now()
	f.must(stop())
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the projector took %v to end", took)
	}
	if len(f.heads()) == 0 {
		t.Error("no head is where it could be")
	}
}

// copiedHeads returns the verified heads of the stream of heads, in their order.
func (f *fixture) copiedHeads() (heads []proof.Checkpoint) {
	f.t.Helper()
	ring, err := testLogRing()
	f.must(err)
	stream, err := f.js.Stream(f.t.Context(), schema.CheckpointStream)
	f.must(err)
	f.must(streamio.Each(f.t.Context(), stream, streamio.Selection{Subject: "ctx.checkpoints.>"}, func(msg jetstream.Msg, _ *jetstream.MsgMetadata) error {
		opened, err := proof.Open(msg.Data(), ring.Verifiers())
		heads = append(heads, opened.Checkpoint)
		return err
	}))
	return heads
}

// noContradiction checks that the heads of each origin have one root for each size and only grow.
func (f *fixture) noContradiction(origins int) (newest proof.Checkpoint) {
	f.t.Helper()
	roots, sizes := make(map[string]tlog.Hash), make(map[string]int64)
	for _, head := range f.copiedHeads() {
		at := fmt.Sprint(head.Origin, " ", head.Size)
		if root, ok := roots[at]; ok && root != head.Root || head.Size < sizes[head.Origin] {
			f.t.Errorf("the head %+v contradicts an earlier one", head)
		}
		roots[at], sizes[head.Origin], newest = head.Root, head.Size, head
	}
	if len(sizes) != origins {
		f.t.Errorf("the heads have %d origins, want %d: %v", len(sizes), origins, sizes)
	}
	return newest
}

// TestLogBeginsAgain: tables that are lost and projected again have the same log, and one with a part
// of its leaves has another origin.
func TestLogBeginsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 3 {
		f.publishAll(1000 * round)
		f.project()
	}
	before := f.noContradiction(1)
	f.loseTables()
	f.project()
	f.publishAll(5000)
	f.project()
	whole := f.noContradiction(1)
	if whole.Size <= before.Size {
		t.Fatalf("the log has not grown from %+v: %+v", before, whole)
	}
	f.retained(everything)
	f.loseTables()
	f.project()
	again := f.noContradiction(2)
	stream, incarnation, ok := proof.ParseOrigin(again.Origin)
	if again.Origin != proof.OriginAfter(stream, incarnation, whole) || !ok || stream != schema.EventStream || incarnation != f.incarnation() {
		t.Errorf("the new log is %q, want one after %+v", again.Origin, whole)
	}
	for round := range 8 { // beyond the size of the old log
		f.publishAll(10_000 + 1000*round)
		f.project()
	}
	if last := f.noContradiction(2); last.Origin != again.Origin || last.Size <= whole.Size {
		t.Errorf("the log goes on as %+v", last)
	}
}
