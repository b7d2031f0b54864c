package verify

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

const secretValue = "hunter2-\"quoted\"\\n-correct horse"

// newTenantKey makes a key from a repeated byte, for reproducible tests.
func newTenantKey(t testing.TB, b byte) schema.Key {
	t.Helper()
	k, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{b}, 32)), rigTime)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func redactionOf(t testing.TB, k schema.Key, value, item string, state schema.RedactionState) *schema.RedactionApplied {
	t.Helper()
	printer, err := fingerprint.New(k)
	if err != nil {
		t.Fatal(err)
	}
	f := &schema.RedactionApplied{
		Common: schema.Common{PolicyRefs: []schema.Ref{"policy:secrets"}}, RedactionID: "red-1", TargetRef: schema.Ref(item),
		RedactionState: state, Method: "pattern", Reason: "secret",
	}
	if print, ok := printer.Of([]byte(value)); ok {
		f.Fingerprints = []schema.Fingerprint{print}
	}
	return f
}

// leaky makes a sealed turn with a redaction and the events from leak.
func leaky(t testing.TB, leak func(s *session, r *rig)) *rig {
	t.Helper()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "s-1", Turn: "turn-1"}, 1)
	s := newSession(t, 1)
	s.seals = false
	r.begin()
	s.turnOf(8, func(e *schema.Event) { r.record(e) })
	r.record(s.event(redactionOf(t, newTenantKey(t, 1), secretValue, "item-0", schema.RedactionMasked)))
	if leak != nil {
		leak(s, r)
	}
	r.record(s.seal("turn"))
	r.finish()
	return r
}

// TestPlantedLeaks: a redacted value is found in every place of a producer's facts.
func TestPlantedLeaks(t *testing.T) {
	t.Parallel()
	k := newTenantKey(t, 1)
	clean := leaky(t, nil)
	hold(t, clean.verify(k), nil)
	for name, fact := range map[string]schema.Fact{
		"summary":      &schema.SummaryCreated{Summary: schema.Summary{SummaryID: "sum", Content: "it said " + secretValue, SourceItemRefs: []schema.Ref{"item-0"}}},
		"diagnostic":   &schema.CompactionFailed{Compaction: schema.Compaction{CompactionID: "c", Scope: "turn", SourceItemRefs: []schema.Ref{"item-0"}, LossNotes: []string{"cannot parse " + secretValue}}},
		"title":        &schema.ItemAdded{Item: schema.Item{ItemID: "leak", ContextKind: "file", Title: secretValue, ContentMode: "ref", ContentRef: "blob:x", Visibility: []string{"model"}}},
		"metadata":     &schema.BudgetApplied{Common: schema.Common{Metadata: map[string]any{"note": map[string]any{"deep": secretValue}}}, BudgetID: "b", Target: "model"},
		"safe summary": &schema.MissingDetected{Missing: schema.Missing{MissingID: "m", Scope: "turn", Question: "what?", Severity: "low", Status: "open", RequestedFrom: "user", RequestedAction: "say", UserSummary: "give us " + secretValue}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := leaky(t, func(s *session, r *rig) { r.record(s.event(fact)) })
			report := r.verify(k)
			hold(t, report, map[Question]Status{Redaction: Failed})
			want(t, report, Redaction, pack.EventsFile, `contains a value that redaction "red-1" withholds (record at line 8)`)
			if text := faults(report); strings.Contains(text, "hunter2") || !strings.Contains(text, "events.ndjson:9 ") {
				t.Errorf("%s", text)
			}
			// Without the key, the answer is not_checked.
			hold(t, r.verify(), map[Question]Status{Redaction: NotChecked})
			hold(t, r.verify(newTenantKey(t, 2)), map[Question]Status{Redaction: NotChecked})
		})
	}
}

// TestLeaksBesideTheRecords: the value is found in every other file as well.
func TestLeaksBesideTheRecords(t *testing.T) {
	t.Parallel()
	k := newTenantKey(t, 1)
	r := leaky(t, nil)
	for _, path := range packFiles(t, r.target) {
		original := r.read(path)
		if path == pack.EventsFile || path == pack.AttestationFile {
			continue
		}
		quoted := fmt.Sprintf("%q", secretValue)
		r.replace(path, append(append(bytes.Clone(original), quoted...), '\n'))
		want(t, r.verify(k), Redaction, path, "contains a value")
		r.replace(path, original)
	}
}

// TestContentOfRedactedItems: remaining content of redacted items is found, also without a key.
func TestContentOfRedactedItems(t *testing.T) {
	t.Parallel()
	item := func(id, content string) *schema.ItemAdded {
		return &schema.ItemAdded{Item: schema.Item{ItemID: id, ContextKind: "file", ContentMode: "inline", Content: content, Visibility: []string{"model"}}}
	}
	removed := func(t *testing.T) *schema.RedactionApplied {
		return redactionOf(t, newTenantKey(t, 1), "short", "gone", schema.RedactionRemoved)
	}
	before := leaky(t, func(s *session, r *rig) {
		r.record(s.event(item("gone", "what it was")))
		r.record(s.event(removed(t)))
	})
	want(t, before.verify(), Redaction, pack.EventsFile, "contains the content of an item that was redacted later, at line 10")
	after := leaky(t, func(s *session, r *rig) {
		r.record(s.event(removed(t)))
		r.record(s.event(item("gone", "what it was")))
	})
	want(t, after.verify(), Redaction, pack.EventsFile, "contains the content of an item that was redacted at line 9")
	masked := leaky(t, func(s *session, r *rig) {
		r.record(s.event(item("masked", "***")))
		r.record(s.event(redactionOf(t, newTenantKey(t, 1), "short", "masked", schema.RedactionMasked)))
	})
	hold(t, masked.verify(), map[Question]Status{Redaction: NotChecked})
}

// TestUnescape removes the escapes of JSON strings, at any depth.
func TestUnescape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`a\"b\\c\/d\n\t\r\b\f`:     "a\"b\\c/d\n\t\r\b\f",
		`\u0041\ud83d\ude00\u00e9`: "A😀é",
		`\u12 \x \`:                `\u12 \x \`,
		`\ud83d x`:                 "\uFFFD x",
		`\ud83d\u0041`:             "\uFFFDA",
		"":                         "",
	} {
		if got := string(unescape([]byte(text))); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestZipPacksLeakToo: the content of a zip is searched.
func TestZipPacksLeakToo(t *testing.T) {
	t.Parallel()
	r := leaky(t, func(s *session, r *rig) {
		r.record(s.event(&schema.MissingDetected{Missing: schema.Missing{MissingID: "m", Scope: "turn", Question: secretValue, Severity: "low", Status: "open", RequestedFrom: "user", RequestedAction: "say", UserSummary: "please"}}))
	})
	path := zipFolder(t, r.target)
	report := verifyAt(t, path, r.key, newTenantKey(t, 1))
	want(t, report, Redaction, pack.EventsFile, "contains a value")
}

// zipFolder packs a folder without this package's writer.
func zipFolder(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pack.zip")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
