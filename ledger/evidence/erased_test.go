package evidence_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

const secretNote = "has lived in Rotterdam since 1987"

// sealedSession returns a turn of six events and its seal. The second and the fourth event belong
// to an item.
func sealedSession(t testing.TB) []*schema.Event {
	t.Helper()
	var list []*schema.Event
	add := func(fact schema.Fact) {
		e := event(t, fmt.Sprint("sealed-", len(list)+1), "sealed", "t1", fact)
		if envelope, ok := fact.(*schema.EnvelopeCreated); ok {
			e.ContextID = envelope.ContextID
		}
		e.Sequence = new(int64(len(list) + 1))
		list = append(list, e)
	}
	item := func(id, title string) schema.Item {
		return schema.Item{ItemID: id, ContextKind: "note", Title: title}
	}
	add(&schema.ItemAdded{Item: item("i-1", "a")})
	add(&schema.ItemAdded{Item: item("i-2", secretNote)})
	add(&schema.ItemAdded{Item: item("i-3", "b")})
	add(&schema.ItemUpdated{Item: item("i-2", secretNote+" or so")})
	add(&schema.AssemblyCreated{AssemblyID: "a-1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b-1", ItemRefs: schema.Refs("i-1", "i-2")}}})
	add(&schema.EnvelopeCreated{ContextID: "c-1", Scope: "turn", Lifecycle: schema.LifecycleInjected, Sequences: []schema.SequenceRanges{{Source: "urn:test", Ranges: [][2]int64{{1, 6}}}}})
	return list
}

// erase removes the events at these places of the first log, as an erasure does. It writes the
// erasure fact to the log in.
func (f *fixture) erase(t testing.TB, in *fixture, session string, sequences []uint64, events ...*schema.Event) {
	t.Helper()
	fact := &schema.ErasureApplied{Common: schema.Common{PolicyRefs: schema.Refs("policy:p")}, ErasureID: "erasure-1", ErasedSubject: "item:i-2", Reason: "request"}
	salter := proof.NewSalter(f.ring.Secret)
	for i, e := range events {
		leaf := proof.Leaf(e, salter.Salt(e.Tenant, e.SessionID, e.Source, e.ID))
		fact.Records = append(fact.Records, schema.ErasedRecord{
			Stream: "CTX_EVENTS", Sequence: int64(sequences[i]), Leaf: hex.EncodeToString(leaf[:]),
			Source: e.Source, SourceSequence: e.Sequence, SessionID: e.SessionID, RunID: e.RunID, TurnID: e.TurnID,
		})
	}
	e, err := schema.NewEvent(fact, "erasure-1-1", "urn:ctxledger:erase", recordedAt, schema.Correlation{Tenant: "acme", SessionID: session})
	if err != nil {
		t.Fatal(err)
	}
	in.write(t, e)
	if err := privacy.Of(f.Ledger).Erase(t.Context(), f.stream, sequences); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) report(t testing.TB, path string) *verify.Report {
	t.Helper()
	keys, err := proof.ParseVerifiers(f.ring.Public())
	if err != nil {
		t.Fatal(err)
	}
	report, err := verify.Pack(t.Context(), path, verify.Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestAfterAnErasure: a pack from before an erasure stays valid. A pack from after the erasure is
// complete, with expired records. The erasure fact is in the log of the scope, or in another log.
func TestAfterAnErasure(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprint("apart ", apart), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			events := sealedSession(t)
			f.write(t, event(t, "before", "other", "t1", &schema.ItemAdded{Item: schema.Item{ItemID: "i"}}))
			f.write(t, events...)
			turn := pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "sealed", Turn: "t1"}
			old := f.config(t, turn)
			if _, err := evidence.Export(t.Context(), f.Ledger, old); err != nil {
				t.Fatal(err)
			}
			needles := traces(t, f, events[1], events[3])
			if n := f.found(t, old.Target, needles); n == 0 {
				t.Fatal("the attack finds nothing where nothing is erased")
			}

			in, session := f, "sealed"
			if apart {
				in, session = f.another(), ""
			}
			f.erase(t, in, session, []uint64{3, 5}, events[1], events[3])
			if v := f.report(t, old.Target).Of(verify.Completeness); v.Status != verify.Passed {
				t.Errorf("the old pack: %+v", v)
			}
			f.verify(t, old.Target)
			for _, redact := range []bool{false, true} {
				c := f.config(t, turn)
				c.Header.RedactIDs = redact
				made, err := evidence.Export(t.Context(), f.Ledger, c)
				if err != nil || made.Records != 7 || made.Erased != 2 {
					t.Fatalf("%+v, %v", made.Summary, err)
				}
				f.verify(t, c.Target)
				report := f.report(t, c.Target)
				if v := report.Of(verify.Completeness); report.Expired != 2 || !redact && (v.Status != verify.Passed || !strings.Contains(v.Detail, "complete: 1; records expired: 2")) {
					t.Errorf("%d expired, %+v", report.Expired, v)
				}
				if n := f.found(t, c.Target, needles); n != 0 {
					t.Errorf("%d traces of what was erased are in the new pack", n)
				}
			}
			// Another session has neither an erased record nor the fact.
			c := f.config(t, pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "other"})
			if made, err := evidence.Export(t.Context(), f.Ledger, c); err != nil || made.Records != 1 {
				t.Errorf("%+v, %v", made.Summary, err)
			}
		})
	}
}

// TestAllErased: the pack of a session without remaining events has the expired records and the
// fact that names them.
func TestAllErased(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := sealedSession(t)
	f.write(t, events...)
	f.erase(t, f.another(), "", []uint64{1, 2, 3, 4, 5, 6}, events...)
	for _, asked := range []read.Scope{{Session: "sealed"}, {Turn: "t1"}, {Tenant: "acme", Session: "sealed", Run: "run-1"}} {
		places, err := read.Of(f.Ledger).ScopePlaces(t.Context(), asked, 2)
		if err != nil || len(places) != 1 || places[0].Tenant != "acme" || places[0].Session != "sealed" || places[0].Events != 6 {
			t.Errorf("%+v is in %+v, %v", asked, places, err)
		}
	}
	if places, err := read.Of(f.Ledger).ScopePlaces(t.Context(), read.Scope{Session: "sealed", Turn: "t2"}, 2); err != nil || len(places) != 0 {
		t.Errorf("another turn is in %+v, %v", places, err)
	}
	c := f.config(t, pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "sealed", Turn: "t1"})
	made, err := evidence.Export(t.Context(), f.Ledger, c)
	if err != nil || made.Records != 7 || made.Erased != 6 {
		t.Fatalf("%+v, %v", made.Summary, err)
	}
	f.verify(t, c.Target)
	if v := f.report(t, c.Target).Of(verify.Completeness); v.Status != verify.Open || !strings.Contains(v.Detail, "was not sealed") || !strings.Contains(v.Detail, "records expired: 6") {
		t.Errorf("%+v", v)
	}
}

// TestSealsBeyondTheScope: a seal can name facts outside of the requested scope. This seal is no
// fault, and the answer is open. A seal with a lost fact is a fault. Of the outside facts, the pack
// has only descriptions of items named in the turn.
func TestSealsBeyondTheScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := sealedSession(t)
	for _, i := range []int{1, 3} {
		events[i].TurnID, events[i].RunID = "t2", "run-2"
	}
	whole := event(t, "sealed-7", "sealed", "t1", &schema.EnvelopeCreated{ContextID: "c-2", Scope: "session", Lifecycle: schema.LifecycleInjected, Sequences: []schema.SequenceRanges{{Source: "urn:test", Ranges: [][2]int64{{1, 9}}}}})
	whole.ContextID, whole.Sequence = "c-2", new(int64(7))
	f.write(t, append(events, whole)...)
	f.erase(t, f, "sealed", []uint64{4}, events[3])
	turn := pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "sealed", Turn: "t1"}
	run := pack.Scope{Kind: pack.ScopeRun, Tenant: "acme", Session: "sealed", Run: "run-1"}
	for _, scope := range []pack.Scope{turn, run} {
		c := f.config(t, scope)
		if _, err := evidence.Export(t.Context(), f.Ledger, c); err != nil {
			t.Fatal(err)
		}
		f.verify(t, c.Target)
		v := f.report(t, c.Target).Of(verify.Completeness)
		if notes := strings.Join(v.Notes, "\n"); v.Status != verify.Open || !strings.Contains(notes, "within the sequences 4") || !strings.Contains(notes, "extend beyond the "+scope.Kind) {
			t.Errorf("%s: %+v", scope.Kind, v)
		}
	}
	if err := privacy.Of(f.Ledger).Erase(t.Context(), f.stream, []uint64{3}); err != nil {
		t.Fatal(err)
	}
	c := f.config(t, turn)
	if _, err := evidence.Export(t.Context(), f.Ledger, c); err != nil {
		t.Fatal(err)
	}
	if v := f.report(t, c.Target).Of(verify.Completeness); v.Status != verify.Failed || v.Total != 1 || !strings.Contains(v.Faults[0].Reason, "sequence 3 ") {
		t.Errorf("a lost fact: %+v", v)
	}
}

// TestContentExpired: a record whose content has left the tables cannot be proven, and the error says
// why. A pack of before verifies.
func TestContentExpired(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(t, sealedSession(t)...)
	f.sign(t)
	c := f.config(t, pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "sealed"})
	if _, err := evidence.Export(t.Context(), f.Ledger, c); err != nil {
		t.Fatal(err)
	}
	n, err := privacy.Of(f.Ledger).Expire(t.Context(), privacy.Expiry{Before: recordedAt.Add(time.Hour)})
	if err != nil || n.Events == 0 {
		t.Fatalf("%d events are empty, %v", n, err)
	}
	again := f.config(t, c.Header.Scope)
	if _, err := evidence.Export(t.Context(), f.Ledger, again); !errors.Is(err, evidence.ErrExpired) {
		t.Errorf("an export of expired content: %v", err)
	}
	if r := f.report(t, c.Target); r.Failed() {
		t.Errorf("the pack of before: %+v", r)
	}
}

// TestRowsGoneWithoutAnErasure: an event with a deleted row is missing instead of expired.
func TestRowsGoneWithoutAnErasure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := sealedSession(t)
	f.write(t, events...)
	f.erase(t, f, "sealed", []uint64{2}, events[1])
	if err := privacy.Of(f.Ledger).Erase(t.Context(), f.stream, []uint64{3}); err != nil {
		t.Fatal(err)
	}
	c := f.config(t, pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "sealed", Turn: "t1"})
	made, err := evidence.Export(t.Context(), f.Ledger, c)
	if err != nil || made.Records != 6 || made.Erased != 1 {
		t.Fatalf("%+v, %v", made.Summary, err)
	}
	v := f.report(t, c.Target).Of(verify.Completeness)
	if v.Status != verify.Failed || v.Total != 1 || !strings.Contains(v.Faults[0].Reason, "sequence 3 ") {
		t.Errorf("a row that is gone without an erasure: %+v", v)
	}
}

// another returns a second stream of the same ledger, with a separate log.
func (f *fixture) another() *fixture {
	other := *f
	other.stream[0] ^= 1
	other.tree, other.next = proof.Tree{}, 1
	return &other
}

// traces returns everything that an observer without a secret can compute from the exact bytes of
// events.
func traces(t testing.TB, f *fixture, events ...*schema.Event) (list []string) {
	t.Helper()
	secret, err := proof.SecretOf(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		guessed := proof.NewSalter(secret).Salt(e.Tenant, e.SessionID, e.Source, e.ID)
		data := sha256.Sum256(e.Data)
		for _, digest := range [][32]byte{data, e.Digest(), proof.Leaf(e, proof.Salt{}), proof.Leaf(e, guessed)} {
			list = append(list, string(digest[:]), hex.EncodeToString(digest[:]), base64.StdEncoding.EncodeToString(digest[:]))
		}
		salt := proof.NewSalter(f.ring.Secret).Salt(e.Tenant, e.SessionID, e.Source, e.ID)
		list = append(list, hex.EncodeToString(salt[:]), e.MessageID(), `"`+e.ID+`"`)
	}
	return append(list, secretNote)
}

// found counts the files of a pack that contain one of the texts.
func (f *fixture) found(t testing.TB, path string, texts []string) (n int) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if slices.ContainsFunc(texts, func(needle string) bool { return bytes.Contains(text, []byte(needle)) }) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
