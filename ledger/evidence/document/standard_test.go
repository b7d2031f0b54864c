package document_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// The cases of the standards about context, with the names from shared/vectors/actx.json.

// payload is content in facts. No document may contain it.
const payload = "the whole text of a file that a producer chose to put into its fact"

// TestACTX_AR_EVID_001: sources of a pack cite context and source references, and contain no
// payload.
func TestACTX_AR_EVID_001(t *testing.T) {
	t.Parallel()
	turn := schema.Correlation{TurnID: "t1", RunID: "r1"}
	files, _ := derive(t, header(), []*pack.Record{
		event(t, 1, &schema.ItemAdded{Item: schema.Item{ItemID: "i1", Content: payload, SourceRefs: []schema.SourceRef{{URI: "file:///a.go", SourceKind: "file"}}}}, turn),
		event(t, 2, &schema.SummaryCreated{Summary: schema.Summary{SummaryID: "s1", Content: payload, SourceItemRefs: schema.Refs("i1")}}, turn),
		event(t, 3, &schema.AssemblyCreated{AssemblyID: "a1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b1", Content: payload, ItemRefs: schema.Refs("i1")}}}, turn),
		event(t, 4, &schema.InjectionApplied{Injection: schema.Injection{InjectionID: "j1", AssemblyID: "a1", Content: payload}}, turn),
	})
	valid(t, files)
	closed(t, files)
	for path, f := range files {
		if bytes.Contains(f.Data, []byte(payload)) {
			t.Errorf("%s holds the payload:\n%s", path, f.Data)
		}
	}
	for _, cited := range []string{`"json_pointer":"/data/content"`, `"uri":"events.ndjson#0.1"`, `"content_mode":"ref"`} {
		if !bytes.Contains(files[pack.ContextFile("items")].Data, []byte(cited)) {
			t.Errorf("the item does not cite %s:\n%s", cited, files[pack.ContextFile("items")].Data)
		}
	}
	if !bytes.Contains(files[pack.ContextFile("assemblies")].Data, []byte(`"json_pointer":"/data/ordered_blocks/0/content"`)) {
		t.Errorf("the block cites nothing:\n%s", files[pack.ContextFile("assemblies")].Data)
	}
	cited := make(map[string]string)
	for _, s := range read[sourceMap](t, files, pack.SourceMapFile).Sources {
		cited[s.ID] = s.Ref + " " + s.URI
		if s.Text != "" {
			t.Errorf("source %s has a snippet", s.ID)
		}
	}
	for id, want := range map[string]string{
		"item:i1": "context/items.json#i1 ", "x-source:file:_2F_2F_2Fa.go": "context/source_refs.json#file:///a.go file:///a.go", "assembly:a1": "context/assemblies.json#a1 ",
	} {
		if cited[id] != want {
			t.Errorf("source %s cites %q, want %q", id, cited[id], want)
		}
	}
}

// TestAEV_AR_ID_001: the scope has the ids of session, thread, turn and context. It also has the
// ids of task and run, if the records have them.
func TestAEV_AR_ID_001(t *testing.T) {
	t.Parallel()
	ids := schema.Correlation{ThreadID: "th/1", TurnID: "t1", TaskID: "k1", RunID: "r1", ContextID: "c1"}
	h := header()
	h.Scope.Kind, h.Scope.Turn = pack.ScopeTurn, "t1"
	files, _ := derive(t, h, []*pack.Record{
		event(t, 1, &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}}, ids),
		event(t, 2, &schema.ItemAdded{Item: schema.Item{ItemID: "i2"}}, ids),
	})
	valid(t, files)
	scope := read[packDocument](t, files, pack.PackFile).Scope
	for name, want := range map[string]string{
		"scope_id": "turn:t1", "session_id": "sess-7f3a", "thread_id": "x-th_2F1", "turn_id": "t1", "task_id": "k1", "run_id": "r1", "context_id": "c1",
	} {
		if scope[name] != want {
			t.Errorf("%s is %q, want %q", name, scope[name], want)
		}
	}
}

// TestAEV_AR_ID_002: the documents contain both attempts of a retried run.
func TestAEV_AR_ID_002(t *testing.T) {
	t.Parallel()
	chosen := &schema.SelectionCompleted{Selection: schema.Selection{SelectionID: "s1", SurfaceID: "f1"}, Selected: []schema.Candidate{{ItemRef: "i1"}}}
	again := &schema.SelectionCompleted{Selection: schema.Selection{SelectionID: "s2", SurfaceID: "f1"}, Selected: []schema.Candidate{{ItemRef: "i1"}}}
	files, _ := derive(t, header(), []*pack.Record{
		event(t, 1, chosen, schema.Correlation{RunID: "r1", AttemptID: "try-1"}), event(t, 2, again, schema.Correlation{RunID: "r1", AttemptID: "try-2"}),
	})
	var of []string
	for _, e := range read[provenance](t, files, pack.ProvenanceFile).Edges {
		if strings.HasPrefix(e.To, "attempt:") {
			of = append(of, e.From+" "+e.To)
		}
	}
	if !slices.Equal(of, []string{"record:0.1 attempt:try-1", "record:0.2 attempt:try-2"}) {
		t.Errorf("attempts: %v", of)
	}
	if scope := read[packDocument](t, files, pack.PackFile).Scope; scope["attempt_id"] != "" || scope["run_id"] != "r1" {
		t.Errorf("scope %v", scope)
	}
}

// TestContextJoinsItsRuntimeIDs checks that edges connect a record to every runtime id. Under rules
// 1, records connect only to turn, run and attempt.
func TestContextJoinsItsRuntimeIDs(t *testing.T) {
	t.Parallel()
	ids := schema.Correlation{SessionID: "s", ThreadID: "h", TurnID: "u", TaskID: "k", RunID: "r", StepID: "p", ToolCallID: "c", ActionID: "a"}
	for rules, want := range map[int][]string{
		0: {"run:r", "turn:u"}, 1: {"run:r", "turn:u"},
		2: {"action:a", "run:r", "session:sess-7f3a", "step:p", "task:k", "thread:h", "tool_call:c", "turn:u"},
	} {
		h := header()
		h.Rules = rules
		files, _ := derive(t, h, []*pack.Record{event(t, 1, &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}}, ids)})
		valid(t, files)
		var found []string
		for _, e := range read[provenance](t, files, pack.ProvenanceFile).Edges {
			if e.From == "record:0.1" {
				found = append(found, e.To)
			}
		}
		if slices.Sort(found); !slices.Equal(found, want) {
			t.Errorf("rules %d: %q, want %q", rules, found, want)
		}
	}
}

// TestTargetOfARedaction: the target of a redaction can be another record than an item.
func TestTargetOfARedaction(t *testing.T) {
	t.Parallel()
	for rules, want := range map[int]string{1: "item:pad-1", 2: "scratchpad:pad-1"} {
		h := header()
		h.Rules = rules
		f := &schema.RedactionApplied{RedactionID: "r-1", TargetRef: `{"kind":"scratchpad","id":"pad-1"}`, RedactionState: schema.RedactionMasked, Reason: "secret"}
		f.PolicyRefs = schema.Refs("policy:test")
		files, summary := derive(t, h, []*pack.Record{
			event(t, 1, f, schema.Correlation{}), event(t, 2, &schema.ScratchpadWritten{Scratchpad: schema.Scratchpad{ScratchpadID: "pad-1"}}, schema.Correlation{}),
		})
		valid(t, files)
		leads := false
		for _, e := range read[provenance](t, files, pack.ProvenanceFile).Edges {
			leads = leads || e.From == "redaction:r-1" && e.To == want
		}
		if !leads || len(summary.Lacking) != 2-rules {
			t.Errorf("rules %d: leads to %s %v, lacking %v", rules, want, leads, summary.Lacking)
		}
	}
}

// TestAEV_AR_REPLAY_001: a replay refers to sources of the pack and has no separate timeline.
func TestAEV_AR_REPLAY_001(t *testing.T) {
	t.Parallel()
	files, _ := derive(t, header(), golden(t))
	r := read[replay](t, files, pack.ReplayFile)
	if len(r.Inputs) == 0 || len(r.Snapshots) == 0 {
		t.Errorf("replay %+v", r)
	}
	closed(t, files)
	if bytes.Contains(files[pack.ReplayFile].Data, []byte("replay_steps")) {
		t.Error("a timeline of its own")
	}
}

// TestAEV_AR_GAP_001: missing telemetry has the status not_collected, and no telemetry is made up.
func TestAEV_AR_GAP_001(t *testing.T) {
	t.Parallel()
	for traced, want := range map[int]string{0: "not_collected", 1: "partial", 2: "complete"} {
		records := []*pack.Record{
			event(t, 1, &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}}, schema.Correlation{}), event(t, 2, &schema.ItemAdded{Item: schema.Item{ItemID: "i2"}}, schema.Correlation{}),
		}
		for _, r := range records[:traced] {
			r.Event.TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		}
		files, _ := derive(t, header(), records)
		valid(t, files)
		d := read[packDocument](t, files, pack.PackFile)
		telemetry := d.Completeness["telemetry"]
		if telemetry.Status != want || traced < 2 && (len(telemetry.Missing) != 1 || telemetry.Missing[0].Reason != "not_collected") {
			t.Errorf("%d of 2 traced: %+v", traced, telemetry)
		}
		if got := bytes.Count(files[pack.PackFile].Data, []byte(`"trace_id"`)); got != min(1, traced) {
			t.Errorf("%d of 2 traced: %d traces", traced, got)
		}
		for _, name := range []string{"runtime", "claims", "artifacts", "verification"} {
			if d.Completeness[name].Status != "not_collected" {
				t.Errorf("%s is %s", name, d.Completeness[name].Status)
			}
		}
	}
}

// TestAEV_AR_REDACT_001: a redaction keeps its record, and redacted or erased content
// keeps its nodes and edges.
func TestAEV_AR_REDACT_001(t *testing.T) {
	t.Parallel()
	facts := func(redacted bool) []*pack.Record {
		list := []*pack.Record{
			event(t, 1, &schema.ItemAdded{Item: schema.Item{ItemID: "i1"}}, schema.Correlation{}),
			event(t, 2, &schema.AssemblyCreated{AssemblyID: "a1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b", ItemRefs: schema.Refs("i1")}}}, schema.Correlation{}),
		}
		if redacted {
			list = append(list, event(t, 3, &schema.RedactionApplied{
				Common: schema.Common{PolicyRefs: schema.Refs("p1")}, RedactionID: "d1", TargetRef: "i1", RedactionState: schema.RedactionRemoved, Reason: "secret", ActorRef: "guard",
			}, schema.Correlation{}))
			list[0].Event, list[0].Erased = nil, "erasure-9"
		}
		return list
	}
	files, summary := derive(t, header(), facts(true))
	valid(t, files)
	closed(t, files)
	if summary.Erased != 1 || summary.Events != 2 {
		t.Errorf("summary %+v", summary)
	}
	d := read[packDocument](t, files, pack.PackFile)
	kinds := make(map[string]string)
	for _, r := range d.Redactions {
		if r.Redaction == "" || r.Reason == "" || r.AppliedBy == "" {
			t.Errorf("redaction %+v", r)
		}
		kinds[r.Target] = r.Kind
	}
	if len(kinds) != 2 || kinds["item:i1"] != "remove" || kinds["record:0.1"] != "expire" {
		t.Errorf("redactions %+v", d.Redactions)
	}
	if d.Status != "partial" || d.Completeness["privacy"].Status != "partial" || d.Completeness["context"].Status != "partial" {
		t.Errorf("status %s, %+v", d.Status, d.Completeness)
	}
	if !bytes.Contains(files[pack.VerificationFile].Data, []byte(`"coverage":[{"what":"content","status":"partial"`)) {
		t.Errorf("coverage:\n%s", files[pack.VerificationFile].Data)
	}
	plain, _ := derive(t, header(), facts(false))
	before, after := read[provenance](t, plain, pack.ProvenanceFile), read[provenance](t, files, pack.ProvenanceFile)
	have := make(map[string]bool)
	for _, n := range after.Nodes {
		have[n.ID] = true
	}
	for _, n := range before.Nodes {
		if !have[n.ID] {
			t.Errorf("node %s is gone", n.ID)
		}
	}
	for _, e := range after.Edges {
		have[e.From+e.Relationship+e.To] = true
	}
	if !have["assembly:a1derived_fromitem:i1"] || !have["record:0.1redacted_fromerasure:erasure-9"] {
		t.Errorf("edges %+v", after.Edges)
	}
}

// TestAEV_AR_EXPORT_001: the manifest lists pack, replay, review, schemas, redactions and the
// scope. Each file has path, role, size and hash.
func TestAEV_AR_EXPORT_001(t *testing.T) {
	t.Parallel()
	files, _ := derive(t, header(), golden(t))
	m := read[struct {
		Files []struct {
			Path string `json:"path"`
			Role string `json:"role"`
			Hash string `json:"hash"`
			Size int64  `json:"size"`
		} `json:"files"`
		Scope         map[string]string   `json:"scope"`
		Schemas       []map[string]string `json:"schemas"`
		RedactionRefs []string            `json:"redaction_refs"`
		ReplayRefs    []string            `json:"replay_refs"`
		ReviewRefs    []string            `json:"review_refs"`
	}](t, files, pack.ManifestFile)
	if len(m.Files) != len(document.Files()) || len(m.Schemas) != 2 || m.Scope["session_id"] != "sess-7f3a" || len(m.RedactionRefs) == 0 || len(m.ReplayRefs) == 0 || len(m.ReviewRefs) == 0 {
		t.Errorf("manifest %+v", m)
	}
	for _, f := range m.Files {
		if f.Path == "" || f.Role == "" || f.Role == "other" || f.Size == 0 || f.Hash == "" {
			t.Errorf("file %+v", f)
		}
	}
}

// TestWithheldRecords: a pack without content keeps the places of its records.
func TestWithheldRecords(t *testing.T) {
	t.Parallel()
	records := golden(t)
	for _, r := range records[:5] {
		r.Event, r.Withheld = nil, true
	}
	files, summary := derive(t, header(), records)
	valid(t, files)
	closed(t, files)
	d := read[packDocument](t, files, pack.PackFile)
	if summary.Withheld != 5 || d.Status != "redacted" || d.Completeness["context"].Missing[0].Reason != "redacted" {
		t.Errorf("%+v, %+v", summary, d)
	}
}

// TestOpenGap: an open gap is a missing fact, a resolved gap is not.
func TestOpenGap(t *testing.T) {
	t.Parallel()
	gap := func(n int64, id string, status schema.MissingStatus) *pack.Record {
		return event(t, n, &schema.MissingDetected{Missing: schema.Missing{MissingID: id, Question: "what is in it?", Severity: schema.SeverityLow, Status: status, RequestedFrom: "alice", RequestedAction: "send it", UserSummary: "a file is not there"}}, schema.Correlation{})
	}
	resolved := event(t, 4, &schema.MissingResolved{Missing: schema.Missing{MissingID: "m2", Status: schema.StatusResolved, ResolutionRefs: schema.Refs("i7")}}, schema.Correlation{})
	files, _ := derive(t, header(), []*pack.Record{gap(1, "m1", schema.StatusOpen), gap(2, "m2", schema.StatusOpen), gap(3, "m3", schema.StatusExpired), resolved})
	valid(t, files)
	closed(t, files)
	var got []string
	for _, m := range read[packDocument](t, files, pack.PackFile).Completeness["context"].Missing {
		got = append(got, m.Fact+" "+m.Reason)
	}
	if want := []string{"missing context missing:m1 not_collected", "missing context missing:m3 expired"}; !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}

// TestConservation: the verification names a selection with candidates missing from its result.
func TestConservation(t *testing.T) {
	t.Parallel()
	sound := event(t, 1, &schema.SelectionCompleted{
		Selection: schema.Selection{SelectionID: "s1", SurfaceID: "f1", Candidates: schema.Refs("i1", "i2")}, Selected: []schema.Candidate{{ItemRef: "i1"}},
		Omitted: []schema.Candidate{{ItemRef: "i2", Reason: schema.OmitStale}},
	}, schema.Correlation{})
	files, _ := derive(t, header(), []*pack.Record{sound})
	if !bytes.Contains(files[pack.VerificationFile].Data, []byte(`"check_type":"conservation","status":"passed"`)) {
		t.Errorf("sound:\n%s", files[pack.VerificationFile].Data)
	}
	files, _ = derive(t, header(), nil)
	valid(t, files)
	if !bytes.Contains(files[pack.VerificationFile].Data, []byte(`"check_type":"conservation","status":"not_applicable"`)) {
		t.Errorf("nothing:\n%s", files[pack.VerificationFile].Data)
	}
	if bytes.Contains(files[pack.VerificationFile].Data, []byte(`"passed"`)) {
		t.Error("passed without a check")
	}
}
