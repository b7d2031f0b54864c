package evidence_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

var recordedAt = time.Date(2026, 11, 21, 8, 0, 0, 5, time.UTC)

// fixture is a ledger with events in a log, under a signed head.
type fixture struct {
	*ledger.Ledger
	ring   proof.Ring
	tree   proof.Tree
	stream uuid.UUID
	next   uint64
}

// migrated is a database with the newest tables and views, made once for all tests.
var migrated = embeddedtest.TemplateOf(ledger.Open, func(ctx context.Context, l *ledger.Ledger) error {
	_, err := shadow.Of(l).Migrate(ctx)
	return err
})

func newFixture(t testing.TB) *fixture {
	t.Helper()
	l, err := ledger.Open(t.Context(), migrated.ClickHouse(t).ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	ring, err := proof.NewRing(recordedAt)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{Ledger: l, ring: ring, stream: uuid.New(), next: 1}
}

// write commits events in one batch, as the projector does, and signs a head.
func (f *fixture) write(t testing.TB, events ...*schema.Event) {
	t.Helper()
	f.writeBy(t, ledger.NewestRules, events...)
}

// writeBy is write under a version of the rules.
func (f *fixture) writeBy(t testing.TB, rules ledger.Rules, events ...*schema.Event) {
	t.Helper()
	b := &ledger.Batch{Rules: rules, Range: ledger.Range{Incarnation: f.stream, First: f.next, RecordedAt: recordedAt, Digest: [32]byte{byte(f.next)}}}
	salter := proof.NewSalter(f.ring.Secret)
	for _, e := range events {
		fact, found := schema.Validate(e)
		if len(found) > 0 {
			t.Fatal(found)
		}
		at := ledger.Position{Incarnation: f.stream, StreamSeq: f.next, RecordedAt: recordedAt.Add(time.Duration(f.next) * time.Second)}
		salt := salter.Salt(e.Tenant, e.SessionID, e.Source, e.ID)
		tenant := e.Tenant
		if rules >= ledger.SubjectRules {
			tenant = cmp.Or(tenant, schema.DefaultTenant)
		}
		b.AddDerived(e, fact, at, ledger.Derived{Tenant: tenant, Digest: e.Digest(), Identity: e.Identity(), Salt: salt})
		b.AddLeaf(&f.tree, proof.Leaf(e, salt), tenant, at)
		b.Messages, b.Last, b.RecordedAt = b.Messages+1, f.next, at.RecordedAt
		f.next++
	}
	b.Log = ledger.LogOf(f.tree)
	if err := f.Write(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	f.sign(t)
}

func (f *fixture) sign(t testing.TB) {
	t.Helper()
	signer, err := f.ring.Signer()
	if err != nil {
		t.Fatal(err)
	}
	c := proof.Checkpoint{Origin: proof.Origin("CTX_EVENTS", f.stream.String()), Size: f.tree.Size, Root: f.tree.Root()}
	note, err := c.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	if err := translog.Of(f.Ledger).KeepHead(t.Context(), translog.SignedHead{Incarnation: f.stream, Size: c.Size, Note: note, RecordedAt: recordedAt}, c); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) config(t testing.TB, scope pack.Scope) evidence.Config {
	t.Helper()
	signer, err := f.ring.Signer()
	if err != nil {
		t.Fatal(err)
	}
	return evidence.Config{
		Header: pack.Header{ID: "pack-1", Scope: scope, Created: recordedAt, Exporter: "test"},
		Target: filepath.Join(t.TempDir(), "pack"), Signer: signer, Known: f.ring.Verifiers(),
	}
}

// golden returns one event of every type, alternating with events of another session.
func golden(t testing.TB) []*schema.Event {
	t.Helper()
	var list []*schema.Event
	for _, kind := range schema.Types() {
		e, err := schema.ParseStructured(schema.Golden(kind))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e, event(t, "other-"+string(kind), "other", "t", &schema.ItemAdded{Item: schema.Item{ItemID: "i"}}))
	}
	return list
}

func event(t testing.TB, id, session, turn string, fact schema.Fact) *schema.Event {
	t.Helper()
	e, err := schema.NewEvent(fact, id, "urn:test", recordedAt, schema.Correlation{Tenant: "acme", SessionID: session, TurnID: turn, RunID: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// check reads a pack back. It compares the records with the events, the multiproof with the signed
// root, and the documents with their derivation.
func (f *fixture) check(t testing.TB, path string, scope pack.Scope, events []*schema.Event) {
	t.Helper()
	r, err := pack.Open(path, pack.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.Faults()) > 0 {
		t.Fatal(r.Faults())
	}
	text, err := r.ReadFile(pack.HeaderFile)
	if err != nil {
		t.Fatal(err)
	}
	h, err := pack.ParseHeader(text)
	if err != nil || h.Scope != scope {
		t.Fatalf("header %+v, %v", h, err)
	}
	comparer, err := document.NewComparer(r.FS(), h)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := r.Lines(pack.EventsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	var leaves []tlog.Hash
	var indexes []int64
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		record, err := pack.ParseRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		if want := events[len(leaves)]; record.Event.Digest() != want.Digest() || !bytes.Equal(record.Event.Data, want.Data) {
			t.Fatalf("record %d is %s, want %s", len(leaves), record.Event.ID, want.ID)
		}
		leaves, indexes = append(leaves, proof.Leaf(record.Event, proof.Salt(record.Salt))), append(indexes, record.LogIndex)
		if err := comparer.Add(0, record); err != nil {
			t.Fatal(err)
		}
	}
	if len(leaves) != len(events) {
		t.Fatalf("%d records, want %d", len(leaves), len(events))
	}
	if _, found, err := comparer.Close(); err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	note, err := r.ReadFile(pack.CheckpointFile(1))
	if err != nil {
		t.Fatal(err)
	}
	head, err := proof.Open(note, f.ring.Verifiers())
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := r.Lines(pack.HashesFile(1))
	if err != nil {
		t.Fatal(err)
	}
	defer hashes.Close()
	given := 0
	err = proof.CheckMany(head.Size, head.Root, func() (int64, tlog.Hash, error) {
		if given == len(leaves) {
			return 0, tlog.Hash{}, io.EOF
		}
		given++
		return indexes[given-1], leaves[given-1], nil
	}, func() (tlog.Hash, error) {
		line, err := hashes.Next()
		if err != nil {
			return tlog.Hash{}, err
		}
		return pack.ParseHashLine(line)
	})
	if err != nil {
		t.Error(err)
	}
}

// verify runs the verifier with only the pack and the public key.
func (f *fixture) verify(t testing.TB, path string) {
	t.Helper()
	keys, err := proof.ParseVerifiers(f.ring.Public())
	if err != nil {
		t.Fatal(err)
	}
	report, err := verify.Pack(t.Context(), path, verify.Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Verdicts {
		if v.Status == verify.Failed {
			t.Errorf("%s: %+v", v.Question, v)
		}
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := golden(t)
	f.write(t, all[:len(all)/2]...)
	f.write(t, all[len(all)/2:]...)
	session := pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "sess-7f3a"}
	turn := session
	turn.Kind, turn.Turn = pack.ScopeTurn, "turn-3"
	run := session
	run.Kind, run.Run = pack.ScopeRun, "run-1"
	for name, scope := range map[string]pack.Scope{"session": session, "turn": turn, "run": run} {
		for _, zip := range []bool{false, true} {
			c := f.config(t, scope)
			c.Zip = zip
			made, err := evidence.Export(t.Context(), f.Ledger, c)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := slices.DeleteFunc(slices.Clone(all), func(e *schema.Event) bool {
				if e.SessionID == scope.Session && e.EventType() == schema.TypeResourceResolved {
					return false // the fact describes things that the turn uses
				}
				return e.SessionID != scope.Session || scope.Turn != "" && e.TurnID != scope.Turn || scope.Run != "" && e.RunID != scope.Run
			})
			if made.Records != uint64(len(want)) || made.Unread != 0 {
				t.Errorf("%s: %+v, want %d records", name, made.Summary, len(want))
			}
			f.check(t, c.Target, scope, want)
			f.verify(t, c.Target)
			entries, err := os.ReadDir(filepath.Dir(c.Target))
			if err != nil || len(entries) != 1 {
				t.Errorf("%s left %v beside the pack, %v", name, entries, err)
			}
		}
	}
}

// TestNothingDangles: the pack of a turn or a run has the facts that describe its named ids, also
// indirectly. Of several versions, the pack has the one valid at that time. The verifier lists the
// ids without a description.
func TestNothingDangles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var events []*schema.Event
	add := func(turn string, fact schema.Fact) {
		e := event(t, fmt.Sprint("d-", len(events)+1), "s", turn, fact)
		if turn == "" {
			e.RunID = "above"
		} else {
			e.TaskID, e.AttemptID = "task", "2"
		}
		events = append(events, e)
	}
	item := func(id, title string) *schema.ItemAdded {
		return &schema.ItemAdded{Item: schema.Item{ItemID: id, Title: title, SourceRefs: []schema.SourceRef{{URI: "file:///" + id}}}}
	}
	add("", item("system", "old"))
	add("", &schema.ItemUpdated{Item: item("system", "then").Item})
	add("", item("unused", "other"))
	add("", &schema.SelectionStarted{Selection: schema.Selection{SelectionID: "system", SurfaceID: "surface", Candidates: schema.Refs("unused")}}) // another kind of record
	add("t0", item("earlier", "said"))
	add("t0", &schema.AssemblyCreated{AssemblyID: "a-0", Target: "model", OrderedBlocks: []schema.Block{{Block: "b", ItemRefs: schema.Refs("earlier")}}})
	add("t0", &schema.InjectionApplied{Injection: schema.Injection{InjectionID: "n-0", AssemblyID: "a-0", Target: "model"}})
	add("t1", item("mine", "asked"))
	add("t1", &schema.AssemblyCreated{AssemblyID: "a-1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b", ItemRefs: schema.Refs("system", "mine", "nowhere")}}})
	add("t1", &schema.InjectionRemoved{Injection: schema.Injection{InjectionID: "n-0"}})
	add("", &schema.ItemUpdated{Item: item("system", "later").Item})
	f.write(t, events...)
	for _, scope := range []pack.Scope{
		{Kind: pack.ScopeTurn, Tenant: "acme", Session: "s", Turn: "t1"}, {Kind: pack.ScopeRun, Tenant: "acme", Session: "s", Run: "run-1"},
		{Kind: pack.ScopeTask, Tenant: "acme", Session: "s", Task: "task", Attempt: "2"},
	} {
		want := []*schema.Event{events[1], events[4], events[5], events[6], events[7], events[8], events[9]}
		c := f.config(t, scope)
		made, err := evidence.Export(t.Context(), f.Ledger, c)
		if err != nil || made.Windows != map[string]int{pack.ScopeTurn: 1, pack.ScopeRun: 2, pack.ScopeTask: 2}[scope.Kind] {
			t.Fatalf("%s: %d windows, %v", scope.Kind, made.Windows, err)
		}
		if !slices.Equal(made.Lacking, []document.Thing{{Kind: "item", ID: "nowhere"}}) {
			t.Errorf("%s: nothing describes %v", scope.Kind, made.Lacking)
		}
		f.check(t, c.Target, scope, want)
		f.verify(t, c.Target)
		v := f.report(t, c.Target).Of(verify.References)
		if v.Status != verify.Open || !strings.Contains(v.Detail, "no record describes: 1") || !slices.Equal(v.Notes, []string{`no record describes the item "nowhere"`}) {
			t.Errorf("%s: %+v", scope.Kind, v)
		}
	}
}

var pseudonym = regexp.MustCompile(`\bid-[a-z2-7]{24}\b`)

// TestWithoutIDs: a pack with --redact-ids contains no original id, and has the same number of
// documents.
func TestWithoutIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(t, golden(t)...)
	c := f.config(t, pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "sess-7f3a"})
	c.Header.RedactIDs = true
	made, err := evidence.Export(t.Context(), f.Ledger, c)
	if err != nil || made.Withheld != 0 || made.Unread != 0 {
		t.Fatalf("%+v, %v", made.Summary, err)
	}
	f.verify(t, c.Target)
	count := 0
	err = filepath.WalkDir(c.Target, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		text = pseudonym.ReplaceAll(text, nil) // it has the letters of an id by chance, once in some hundred runs
		for _, id := range []string{"sess-7f3a", "turn-3", "user-812", "run-1", "item-backoff", "host-a", "thread-1", "retry/backoff.go", "flaky", "acme"} {
			if bytes.Contains(text, []byte(id)) {
				t.Errorf("%s holds %s", path, id)
			}
		}
		if strings.HasSuffix(path, "events.ndjson") {
			count = bytes.Count(text, []byte(`"withheld":true`))
		}
		return err
	})
	if err != nil || count != len(schema.Types()) {
		t.Errorf("%d withheld records, %v", count, err)
	}
	var provenance struct{ Nodes, Edges []any }
	text, err := os.ReadFile(filepath.Join(c.Target, "provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &provenance); err != nil || len(provenance.Edges) < 50 {
		t.Errorf("%d edges, %v", len(provenance.Edges), err)
	}
}

// newKey returns a key of a tenant, and what makes fingerprints with it.
func newKey(t *testing.T) (schema.Key, fingerprint.Hasher) {
	t.Helper()
	key, err := schema.NewKey(rand.Reader, recordedAt)
	if err != nil {
		t.Fatal(err)
	}
	fingerprinter, err := fingerprint.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, fingerprinter
}

// TestRefusals: each refused export leaves no files.
func TestRefusals(t *testing.T) {
	t.Parallel()
	key, fingerprinter := newKey(t)
	const secret = `hunter2-"quoted"-and long`
	fingerprint, _ := fingerprinter.Of([]byte(secret))
	f := newFixture(t)
	redaction := &schema.RedactionApplied{
		Common: schema.Common{PolicyRefs: schema.Refs("no-secrets")}, RedactionID: "red-1", TargetRef: "i1", RedactionState: schema.RedactionMasked, Reason: "secret",
		Fingerprints: []schema.Fingerprint{fingerprint},
	}
	f.write(t,
		event(t, "1", "clean", "t1", redaction),
		event(t, "2", "titled", "t1", &schema.ItemAdded{Item: schema.Item{ItemID: "i1", Title: "it is " + secret}}),
		event(t, "3", "summed", "t1", &schema.SummaryCreated{Summary: schema.Summary{SummaryID: "s1", Content: secret, SourceItemRefs: schema.Refs("i1")}}),
		event(t, "4", "diagnosed", "t1", &schema.PressureApplied{PressureID: "p1", Step: new(int64(1)), Name: "trim", Outcome: schema.OutcomeFailed, Reason: secret}),
		event(t, "5", "noted", "t1", &schema.ItemAdded{Common: schema.Common{Metadata: map[string]any{"k": secret}}, Item: schema.Item{ItemID: "i1"}}),
		event(t, "6", "safe", "t1", &schema.MissingDetected{Missing: schema.Missing{
			MissingID: "m1", Question: "what?", Severity: schema.SeverityLow, Status: schema.StatusOpen, RequestedFrom: "alice", RequestedAction: "send", UserSummary: secret,
		}}),
		event(t, "7", secret+"-session", "t1", &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}}),
	)
	scope := func(session string) pack.Scope {
		return pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: session}
	}
	for _, session := range []string{"titled", "summed", "diagnosed", "noted", "safe", secret + "-session"} {
		c := f.config(t, scope(session))
		c.Keys = []schema.Key{key}
		_, err := evidence.Export(t.Context(), f.Ledger, c)
		var leak *evidence.LeakError
		if !errors.As(err, &leak) || leak.RedactionID != "red-1" || leak.PolicyRef != "no-secrets" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", session, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(c.Target)); err != nil || len(entries) > 0 {
			t.Errorf("%s left %v, %v", session, entries, err)
		}
	}
	c := f.config(t, scope("clean"))
	c.Keys = []schema.Key{key}
	if made, err := evidence.Export(t.Context(), f.Ledger, c); err != nil || made.Unchecked != 0 {
		t.Errorf("clean: %d unchecked, %v", made.Unchecked, err)
	}
	c = f.config(t, scope("titled")) // without the key, the leak is not found
	if made, err := evidence.Export(t.Context(), f.Ledger, c); err != nil || made.Unchecked != 1 {
		t.Errorf("without keys: %d unchecked, %v", made.Unchecked, err)
	}
	if _, err := evidence.Export(t.Context(), f.Ledger, f.config(t, scope("nosuch"))); !errors.Is(err, evidence.ErrNothing) {
		t.Errorf("nothing: %v", err)
	}
	stranger, err := proof.NewRing(recordedAt)
	if err != nil {
		t.Fatal(err)
	}
	c = f.config(t, scope("clean"))
	c.Known = stranger.Verifiers()
	if _, err := evidence.Export(t.Context(), f.Ledger, c); !errors.Is(err, proof.ErrSignature) {
		t.Errorf("another key: %v", err)
	}
}

// TestRedactionsOfOtherShards: a pack holds no value that a redaction of another shard withholds. A
// shard that does not answer ends the export.
func TestRedactionsOfOtherShards(t *testing.T) {
	t.Parallel()
	key, fingerprinter := newKey(t)
	const secret = "a long secret of another shard"
	found, _ := fingerprinter.Of([]byte(secret))
	own, other := newFixture(t), newFixture(t)
	own.write(t, event(t, "1", "titled", "t1", &schema.ItemAdded{Item: schema.Item{ItemID: "i1", Title: "it is " + secret}}))
	other.write(t, event(t, "2", "redacted", "t1", &schema.RedactionApplied{
		Common: schema.Common{PolicyRefs: schema.Refs("no-secrets")}, RedactionID: "red-1", TargetRef: "i1", RedactionState: schema.RedactionMasked, Reason: "secret",
		Fingerprints: []schema.Fingerprint{found},
	}))
	c := own.config(t, pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "titled"})
	c.Keys, c.Shards = []schema.Key{key}, []*ledger.Ledger{own.Ledger, other.Ledger}
	var leak *evidence.LeakError
	if _, err := evidence.Export(t.Context(), own.Ledger, c); !errors.As(err, &leak) || leak.RedactionID != "red-1" {
		t.Errorf("a value that another shard withholds: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := evidence.Export(t.Context(), own.Ledger, c); err == nil || errors.As(err, &leak) {
		t.Errorf("without the other shard: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(c.Target)); err != nil || len(entries) > 0 {
		t.Errorf("the exports left %v, %v", entries, err)
	}
}

// TestNotCovered: records without a covering signed head, and records without a leaf, are refused.
func TestNotCovered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(t, event(t, "1", "s1", "t1", &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}}))
	e := event(t, "2", "s2", "t1", &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}})
	fact, _ := schema.Validate(e)
	at := ledger.Position{Incarnation: f.stream, StreamSeq: f.next, RecordedAt: recordedAt}
	b := &ledger.Batch{Range: ledger.Range{Incarnation: f.stream, First: f.next, Last: f.next, Messages: 1, RecordedAt: recordedAt, Digest: [32]byte{2}}}
	b.AddDerived(e, fact, at, ledger.Derived{Tenant: e.Tenant, Digest: e.Digest(), Identity: e.Identity()})
	if err := f.Write(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	c := f.config(t, pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "s2"})
	if _, err := evidence.Export(t.Context(), f.Ledger, c); !errors.Is(err, evidence.ErrNotLogged) {
		t.Errorf("without a leaf: %v", err)
	}
	f.next++
	f.tree.Append(tlog.Hash{}, nil)
	b = &ledger.Batch{Range: ledger.Range{Incarnation: f.stream, First: f.next, Last: f.next, Messages: 1, RecordedAt: recordedAt, Digest: [32]byte{3}}}
	e = event(t, "3", "s3", "t1", &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}})
	at.StreamSeq = f.next
	b.AddDerived(e, fact, at, ledger.Derived{Tenant: e.Tenant, Digest: e.Digest(), Identity: e.Identity()})
	b.AddLeaf(&f.tree, tlog.Hash{1}, e.Tenant, at) // not the leaf of the event
	if err := f.Write(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	c = f.config(t, pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "s3"})
	if _, err := evidence.Export(t.Context(), f.Ledger, c); !errors.Is(err, evidence.ErrNotCovered) {
		t.Errorf("without a head: %v", err)
	}
	f.sign(t)
	if _, err := evidence.Export(t.Context(), f.Ledger, c); !errors.Is(err, evidence.ErrAltered) {
		t.Errorf("with another leaf: %v", err)
	}
}
