package conformance

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// A mutation is a fault that one check must find. The fault is a changed event of a runtime, or a
// statement that changes the tables like a faulty projector.
type mutation struct {
	name, check string // names of the case and the check
	edits       []edit
	fault       string // file in testdata
}

// An edit changes the event with a label: its text, its publication, or its expected refusal.
type edit struct {
	label    string
	old, new string // both empty: the event is not sent
	refused  *string
}

func swap(label, old, new string) edit { return edit{label: label, old: old, new: new} }
func drop(label string) edit           { return edit{label: label} }
func claim(label, code string) edit    { return edit{label: label, refused: &code} }

func mutations() []mutation {
	edits := func(name, check string, list ...edit) mutation {
		return mutation{name: name, check: check, edits: list}
	}
	fault := func(name, check, file string) mutation { return mutation{name: name, check: check, fault: file} }
	return []mutation{
		edits("ACTX-AR-GOV-001", "recorded", claim("turn-completed", "")),
		fault("ACTX-AR-EVID-001", "recorded", "change-data.sql"),
		fault("ACTX-AR-EVID-001", "typed-rows", "lose-turn.sql"),
		edits("ACTX-AR-GOV-001", "refused-kept", claim("title", "runtime_status")),
		edits("ACTX-AR-GOV-001", "refused-kept", claim("approved", "permission")),
		fault("ACTX-AR-GOV-001", "refused-kept", "change-quarantine.sql"),
		fault("ACTX-AR-GOV-001", "refused-nowhere-else", "half-apply.sql"),

		edits("ACTX-AR-ID-001", "envelope-has-the-turn", swap("envelope", `"turnid": "turn-1-$RUN", `, ``)),
		edits("ACTX-AR-ID-001", "context-id-resolves", swap("injection", "ce-contextid: context-$RUN", "ce-contextid: context")),
		edits("ACTX-AR-ID-001", "envelopes-name-their-turn", swap("envelope", `"turnid": "turn-1-$RUN", `, ``)),
		edits("ACTX-AR-ID-002", "attempts-are-told-apart", swap("attempt-2", `"runid":"run-2","attemptid":"attempt-2"`, `"runid":"run-1","attemptid":"attempt-1"`)),
		edits("ACTX-AR-ID-002", "earlier-attempt-unchanged", swap("attempt-2", `"attemptid":"attempt-2"`, `"attemptid":"attempt-1"`)),
		edits("ACTX-AR-ID-002", "retry-is-no-violation", swap("attempt-2", `"attemptid":"attempt-2"`, `"attemptid":"attempt-1"`)),
		edits("ACTX-AR-ID-002", "windows-are-told-apart", swap("window-2", `"attemptid":"attempt-2"`, `"attemptid":"attempt-1"`)),
		edits("ACTX-AR-ID-002", "task-leads-to-its-parts", swap("tool-window", `,"toolcallid":"tool-1"`, ``)),
		edits("ACTX-AR-ID-002", "task-leads-to-its-parts", swap("gap", "ce-actionid: action-1\n", "")),
		edits("ACTX-AR-ID-002", "tasks-name-their-attempt", swap("attempt-1", "ce-runid: run-1\nce-attemptid: attempt-1\n", "")),
		edits("ACTX-AR-SEL-001", "decided-one-by-one", swap("selection", `"reason":"budget_limit"`, `"reason":"stale"`)),
		edits("ACTX-AR-SEL-001", "available-is-candidates", swap("surface", `,"e-$RUN"`, ``)),
		edits("ACTX-AR-SEL-001", "reasons-of-the-standard", swap("selection", `"reason":"low_relevance"`, `"reason":"whim"`)),
		edits("ACTX-AR-SEL-001", "candidates-conserved", swap("selection", `"selection_policy":"top-3"`, `"part":1,"parts":2`)),
		edits("ACTX-AR-BUDGET-001", "limits-and-use", swap("budget", `"actual_items":4,`, ``)),
		edits("ACTX-AR-BUDGET-001", "truncation-explained", swap("budget", `"tokens_after":500,`, ``)),
		edits("ACTX-AR-BUDGET-001", "limit-with-measure", swap("budget", `"max_tokens":8000,`, ``)),
		edits("ACTX-AR-BUDGET-001", "limit-with-measure", swap("budget", `"overflow_strategy":"truncate_tail",`, ``)),
		edits("ACTX-AR-ASM-001", "injection-leads-to-sources", swap("main", `"uri":"file:///srv/app/main.py",`, ``)),
		edits("ACTX-AR-ASM-001", "sources-by-id-and-selector", swap("notes", `"source_id":"notes-7",`, `"uri":"file:///notes",`)),
		edits("ACTX-AR-ASM-001", "selected-is-not-injected", swap("assembly", `"block":"docs","item_refs":["guide-$RUN"]`, `"block":"docs","item_refs":["notes-$RUN"]`)),
		edits("ACTX-AR-ASM-001", "assembled-is-not-injected", swap("injection", "assembly-1-", "assembly-2-")),
		edits("ACTX-AR-ASM-001", "assemblies-recorded", swap("injection", "assembly-1-", "assembly-9-")),
		edits("ACTX-AR-ASM-001", "items-recorded", drop("guide")),
		edits("ACTX-AR-MISSING-001", "gap-can-be-asked-for", swap("requested", `"requested_from":"user"`, `"requested_from":"somebody"`)),
		edits("ACTX-AR-MISSING-001", "life-of-the-gap", drop("requested")),
		edits("ACTX-AR-MISSING-001", "gaps-name-owner-and-action", drop("detected"), drop("requested")),
		edits("ACTX-AR-MISSING-001", "gap-is-no-permission", swap("requested", `"status":"requested"`, `"status":"pending"`)),
		edits("ACTX-AR-COMPACT-001", "points-at-its-window", swap("completed", `"last_position":1`, `"last_position":2`)),
		edits("ACTX-AR-COMPACT-001", "goals-are-kept", swap("summary", `,"goal_refs":["goal-1-$RUN"]`, ``)),
		edits("ACTX-AR-COMPACT-001", "goals-are-kept", swap("completed", `"ref":"goal-2-$RUN"`, `"ref":"goal-3-$RUN"`)),
		edits("ACTX-AR-COMPACT-001", "summary-is-context", swap("summary-item", `"context_kind":"thread_summary"`, `"context_kind":"message"`)),
		edits("ACTX-AR-COMPACT-001", "summary-is-context", swap("follow-up", `"item_type"`, `"item_ref":"summary-$RUN","item_type"`)),
		edits("ACTX-AR-COMPACT-001", "source-left-the-window", swap("assembly", `["summary-$RUN"]`, `["question-$RUN"]`)),
		edits("ACTX-AR-COMPACT-001", "compactions-name-source-and-summary", swap("completed", `"summary_ref":"summary-$RUN",`, ``)),
		edits("ACTX-AR-COMPACT-001", "reasoning-not-replayed", swap("assembly", `["follow-up-$RUN"]`, `["follow-up-$RUN","thought-$RUN"]`)),
		edits("ACTX-AR-POLICY-001", "item-keeps-its-redaction", swap("item", `"redaction_reason":"holds a password",`, ``)),
		edits("ACTX-AR-POLICY-001", "redaction-is-a-fact", swap("redaction", `["policy:secrets/v3"]`, `["policy:other"]`)),
		edits("ACTX-AR-POLICY-001", "window-shows-it-removed", swap("assembly", `"redaction_state":"removed"`, `"redaction_state":"masked"`)),
		edits("ACTX-AR-POLICY-001", "injection-says-it", swap("injection", `,"redaction_state":"removed"`, ``)),
		edits("ACTX-AR-POLICY-001", "secret-nowhere", swap("assembly", `"target":"model"`, `"target":"model","metadata":{"note":"correct-horse-$RUN"}`)),
		edits("ACTX-AR-POLICY-001", "redactions-have-policy", swap("item", `"policy_refs":["policy:secrets/v3"],`, ``)),
		edits("ACTX-AR-POLICY-001", "redacted-stays-redacted", swap("assembly", `,"redaction_state":"removed"`, ``)),
		edits("ACTX-AR-EVID-001", "evidence-leads-to-sources", swap("page", `"content_ref":"blob:77",`, ``)),
		edits("ACTX-AR-EVID-001", "parts-are-references", swap("picture", `"ref":"blob:78"`, `"ref":"blob:80"`)),
		edits("ACTX-AR-EVID-001", "parts-are-references", swap("picture", `"byte_size":20480,`, ``)),
		edits("ACTX-AR-EVID-001", "pack-refers", swap("exported", `["evidence-$RUN"]`, `[]`)),
		edits("ACTX-AR-EVID-001", "payload-not-copied", swap("page", `"context_kind"`, `"title":"payload-$RUN","context_kind"`)),
		edits("ACTX-AR-EVID-001", "refs-lead-somewhere", swap("page", `"content_ref":"blob:77",`, ``), swap("page", `{"uri":"https://example.org/spec","source_kind":"file","digest":"hmac:k1:77aa"}`, ``)),
		edits("ACTX-AR-GOV-001", "own-words-stay", swap("tool", "approve_invoice", "invoice")),
		fault("ACTX-AR-GOV-001", "nothing-declares-status", "declare-status.sql"),
		edits("ACTX-AR-FAIL-STATUS", "neighbours-stand", drop("before")),
		edits("ACTX-AR-FAIL-STATUS", "no-status-from-context", swap("after", `"status":"incomplete"`, `"status":"completed"`)),
		edits("ACTX-AR-FAIL-PERMISSION", "gap-was-not-approved", swap("declined", `"status":"declined"`, `"status":"resolved"`)),
		edits("ACTX-AR-FAIL-PERMISSION", "no-grant-from-a-gap", swap("approved", "context.missing.resolved", "context.grant.issued"),
			swap("approved", `"missing_id":"gap-$RUN","status":"resolved","permission_granted":true`, `"grant_id":"grant-$RUN","grants":["read:/etc/app"]`)),
		edits("ACTX-AR-FAIL-ANSWER", "only-the-proper-one", swap("kind", `"final_answer"`, `"thread_summary"`)),
		edits("ACTX-AR-FAIL-IDS", "joins-by-every-id", swap("item", "ce-stepid: step-1\n", "")),
		edits("ACTX-AR-FAIL-IDS", "context-joins-task", swap("item", "blob:1", "blob:9")),
		edits("ACTX-AR-FAIL-IDS", "nothing-strays", swap("agreeing", "turn-1-$RUN", "turn-7-$RUN")),
		edits("ACTX-AR-FAIL-REDACTED", "nothing-came-back", swap("redaction", `"reason":"private letter"`, `"reason":"says correct-horse-$RUN"`)),
		edits("ACTX-AR-FAIL-REDACTED", "withheld-item-stands", swap("as-summary", `"content":"The letter says correct-horse-$RUN.",`, ``)),
	}
}

// TestEveryCheckCanFail plants a fault for every check. No case passes with its fault.
func TestEveryCheckCanFail(t *testing.T) {
	t.Parallel()
	list := mutations()
	var cases []Case
	for _, m := range list {
		cases = append(cases, m.apply(t))
	}
	i := install(t, true)
	i.Cases = cases
	ctx := t.Context()
	r, err := newRun(ctx, i.Target, nil)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.publish(ctx, false))
	must(r.remember(ctx))
	must(r.publish(ctx, true))
	for n, m := range list {
		if m.fault != "" {
			i.plant(t, m.fault, r.trials[n], r)
		}
	}
	must(r.check(ctx))
	for n, c := range r.report().Cases {
		switch {
		case len(c.Findings) != 1:
			t.Errorf("%s, %s: %d findings", list[n].name, list[n].check, len(c.Findings))
		case c.Pass:
			t.Errorf("%s, %s: passes although %+v %s", list[n].name, list[n].check, list[n].edits, list[n].fault)
		case c.Findings[0].LookedAt == 0:
			t.Errorf("%s, %s: fails only because there is nothing to judge", list[n].name, list[n].check)
		}
	}
}

// apply returns the case with the fault and only the check that must find the fault.
func (m *mutation) apply(t *testing.T) Case {
	t.Helper()
	selected, err := Select(m.name)
	if err != nil {
		t.Fatal(err)
	}
	c := selected[0]
	for _, e := range m.edits {
		at := slices.IndexFunc(c.Events, func(event Event) bool { return event.Label == e.label })
		switch {
		case at < 0:
			t.Fatalf("%s has no event %s", m.name, e.label)
		case e.refused != nil:
			c.Events[at].Refused = *e.refused
		case e.old == "":
			c.Events = slices.Delete(c.Events, at, at+1)
		case !strings.Contains(c.Events[at].Text, e.old):
			t.Fatalf("%s, event %s: no %s in it", m.name, e.label, e.old)
		default:
			c.Events[at].Text = strings.ReplaceAll(c.Events[at].Text, e.old, e.new)
		}
	}
	c.Checks = slices.DeleteFunc(c.Checks, func(check Check) bool { return check.Name != m.check })
	return c
}

// plant runs the statement of a file on the rows of a trial.
func (i *installation) plant(t *testing.T, file string, of *trial, r *run) {
	t.Helper()
	statement, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	parameters, err := of.allParameters(r.incarnations[of.stream])
	if err != nil {
		t.Fatal(err)
	}
	if err := embeddedtest.Connect(t, i.dsn).Exec(clickhouse.Context(t.Context(), clickhouse.WithParameters(parameters)), string(statement)); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestEveryCheckHasAFault compares the table of mutations with the checks.
func TestEveryCheckHasAFault(t *testing.T) {
	t.Parallel()
	planted := make(map[string]bool)
	for _, m := range mutations() {
		planted[m.name+" "+m.check], planted[m.check] = true, true
	}
	common := len(commonChecks())
	for _, c := range Cases() {
		for n, check := range c.Checks {
			if n < common && !planted[check.Name] || n >= common && check.OnRun && !planted[c.Name+" "+check.Name] {
				t.Errorf("%s: nothing shows that %s can fail", c.Name, check.Name)
			}
		}
	}
}
