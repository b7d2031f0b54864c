package verify

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// The cases of Agent Evidence about packs, by name.

// documentOf reads a document of a pack.
func documentOf(r *rig, path string) (members map[string]any) {
	r.t.Helper()
	r.must(json.Unmarshal(r.read(path), &members))
	return members
}

func objects(value any) (list []map[string]any) {
	elements, _ := value.([]any)
	for _, e := range elements {
		if object, ok := e.(map[string]any); ok {
			list = append(list, object)
		}
	}
	return list
}

func turnScope() pack.Scope {
	return pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "s-1", Turn: "turn-1"}
}

// TestAEV_AR_ID_001: the pack's scope has the ids of session, thread, turn, run and context.
func TestAEV_AR_ID_001(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, turnScope(), 1)
	s := newSession(t, 1)
	s.turnOf(9, func(e *schema.Event) { r.record(e) })
	r.finish()
	hold(t, r.verify(), nil)
	scope, _ := documentOf(r, pack.PackFile)["scope"].(map[string]any)
	for name, id := range map[string]string{"session_id": "s-1", "thread_id": "th-1", "turn_id": "turn-1", "run_id": "run-1", "context_id": "ctx-turn-1"} {
		if scope[name] != id {
			t.Errorf("%s is %v in %v", name, scope[name], scope)
		}
	}
}

// TestAEV_AR_ID_002: both attempts of a run are in the pack.
func TestAEV_AR_ID_002(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
	s := newSession(t, 1)
	for _, attempt := range []string{"attempt-1", "attempt-2"} {
		s.ids.AttemptID = attempt
		s.turnOf(8, func(e *schema.Event) { r.record(e) })
	}
	r.record(s.seal("session"))
	r.finish()
	hold(t, r.verify(), nil)
	for _, path := range []string{pack.EventsFile, pack.ProvenanceFile, pack.ContextFile("selections")} {
		text := string(r.read(path))
		if !strings.Contains(text, "attempt-1") || !strings.Contains(text, "attempt-2") {
			t.Errorf("%s lacks an attempt", path)
		}
	}
}

// TestAEV_AR_REPLAY_001: a replay refers to ids of the pack and has no separate timeline.
func TestAEV_AR_REPLAY_001(t *testing.T) {
	t.Parallel()
	r := small(t)
	replay := documentOf(r, pack.ReplayFile)
	known := make(map[any]bool)
	for _, source := range objects(documentOf(r, pack.SourceMapFile)["sources"]) {
		known[source["source_id"]] = true
	}
	for _, list := range []string{"input_refs", "snapshot_refs"} {
		refs := objects(replay[list])
		if len(refs) == 0 {
			t.Errorf("no %s", list)
		}
		for _, ref := range refs {
			if !known[ref["ref_id"]] {
				t.Errorf("%s has %v, which is no source", list, ref)
			}
		}
	}
	if steps := replay["replay_steps"]; steps != nil {
		t.Errorf("a second timeline: %v", steps)
	}
}

// TestAEV_AR_GAP_001: missing data has the status not_collected, and no data is made up.
func TestAEV_AR_GAP_001(t *testing.T) {
	t.Parallel()
	r := small(t)
	report := r.verify()
	completeness, _ := documentOf(r, pack.PackFile)["completeness"].(map[string]any)
	telemetry, _ := completeness["telemetry"].(map[string]any)
	missing := objects(telemetry["missing_facts"])
	if telemetry["status"] != "not_collected" || len(missing) == 0 || missing[0]["reason"] != "not_collected" {
		t.Errorf("telemetry: %v", telemetry)
	}
	if list := objects(documentOf(r, pack.PackFile)["telemetry"]); len(list) > 0 {
		t.Errorf("made up: %v", list)
	}
	said := false
	for _, note := range report.Of(Completeness).Notes {
		said = said || strings.HasPrefix(note, "not_collected") && strings.Contains(note, "telemetry")
	}
	if !said {
		t.Errorf("the report does not say it: %v", report.Of(Completeness).Notes)
	}
}

// TestAEV_AR_REDACT_001: a redaction keeps id, target, kind, reason and actor. All ids and edges of
// the graph remain.
func TestAEV_AR_REDACT_001(t *testing.T) {
	t.Parallel()
	graph := func(r *rig) map[any]bool {
		ids := make(map[any]bool)
		for _, edge := range objects(documentOf(r, pack.ProvenanceFile)["edges"]) {
			ids[[3]any{edge["from"], edge["to"], edge["relationship"]}] = true
		}
		for _, source := range objects(documentOf(r, pack.SourceMapFile)["sources"]) {
			ids[source["source_id"]] = true
		}
		return ids
	}
	plain := leaky(t, nil)
	redacted := leaky(t, func(s *session, r *rig) {
		f := redactionOf(t, newTenantKey(t, 1), secretValue, "item-1", schema.RedactionRemoved)
		f.RedactionID, f.ActorRef = "red-2", "actor:reviewer"
		r.record(s.event(f))
	})
	hold(t, redacted.verify(newTenantKey(t, 1)), nil)
	after := graph(redacted)
	for id := range graph(plain) {
		if e, ok := id.([3]any); ok && strings.HasPrefix(e[0].(string), "envelope") || ok && strings.HasPrefix(e[0].(string), "record") {
			continue // of the seal, which has moved by one
		}
		if !after[id] {
			t.Errorf("%v is gone", id)
		}
	}
	found := false
	for _, red := range objects(documentOf(redacted, pack.PackFile)["redactions"]) {
		if strings.HasSuffix(red["target_ref"].(string), "item-1") {
			found = red["redaction_id"] != "" && red["redaction_kind"] == "remove" && red["reason"] == "secret" && red["applied_by"] != nil
		}
	}
	if !found {
		t.Errorf("%v", documentOf(redacted, pack.PackFile)["redactions"])
	}
	for _, result := range objects(documentOf(redacted, pack.VerificationFile)["verification_results"]) {
		if strings.Contains(result["check_type"].(string), "redact") && result["coverage"] == nil {
			t.Errorf("no coverage: %v", result)
		}
	}
}

// TestAEV_AR_EXPORT_001: the manifest lists pack, replay, verification, redactions, the schemas and
// the scope. Each file has path, role, size and digest.
func TestAEV_AR_EXPORT_001(t *testing.T) {
	t.Parallel()
	r := small(t)
	manifest := documentOf(r, pack.ManifestFile)
	roles := make(map[any]bool)
	for _, f := range objects(manifest["files"]) {
		roles[f["role"]] = true
		for _, name := range []string{"path", "role", "media_type", "size", "hash"} {
			if f[name] == nil {
				t.Errorf("%v has no %s", f, name)
			}
		}
	}
	for _, role := range []string{"pack", "replay", "verification", "records", "proof", "context", "header", "source_map", "provenance", "readme"} {
		if !roles[role] {
			t.Errorf("no file with the role %s", role)
		}
	}
	if len(objects(manifest["schemas"])) == 0 || manifest["scope"] == nil || manifest["completeness"] == nil {
		t.Errorf("%v", manifest)
	}
}
