package ask_test

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// spread publishes facts of one kind in sessions of both shards. Their groups, such as a policy, are on both.
func (p *person) spread() {
	p.T.Helper()
	for i, session := range p.Sessions {
		weight := int64(i + 1)
		policy := schema.Common{PolicyRefs: schema.Refs("policy:p")}
		p.worked(session, "urn:test:first", p.usage("told", "one", 7*weight, ""))
		p.worked(session, "urn:test:second", p.usage("told", "one", 8*weight, "")) // tells the same call
		p.worked(session, "", p.usage("call-1", "two", 100*weight, "system_changed"))
		p.worked(session, "", p.usage("call-2", "three", 90*weight, "system_changed"))
		p.worked(session, "", p.usage("call-3", "four", 80*weight, "messages_changed"))
		elision := schema.Elision{
			PassID: fmt.Sprint("pass-", i), Policy: "policy-a", TokensSaved: new(40 * weight),
			ElidedItemRefs: []schema.Elided{{ItemRef: "old-1", TokensBefore: new(50 * weight), TokensAfter: new(10 * weight)}},
		}
		if i == 0 {
			p.worked(session, "", &schema.ElisionApplied{Common: policy, Elision: elision})
			elision.Policy = "policy-b"
		}
		elision.PassID += "-b"
		p.worked(session, "", &schema.ElisionApplied{Common: policy, Elision: elision})
		p.worked(session, "", p.usage("call-4", "four", 60*weight, "messages_changed"))
		p.worked(session, "", p.usage("call-5", "four", 50*weight, ""))
		elision.PassID, elision.Policy = fmt.Sprint("reload-", i), "policy-b"
		p.worked(session, "", &schema.ElisionReloaded{Common: policy, Elision: elision})
		p.worked(session, "", &schema.ResourceResolved{Resource: schema.Resource{BindingID: fmt.Sprint("resource:", i), Name: "files"}})
		p.worked(session, "", &schema.ItemAdded{Item: schema.Item{ItemID: "of-files", BindingID: fmt.Sprint("resource:", i)}})
		p.chose(session, i)
		p.asked(session, i)
	}
	// A source whose log another one tells better in the first session, and only there.
	const log = "urn:ctxledger:import:codex:log"
	for _, of := range [][2]string{{p.Sessions[0], log}, {p.Sessions[0], log + ";r2;text;x"}, {p.Sessions[1], log}} {
		p.worked(of[0], of[1], &schema.ScopeOpened{RunID: "run-" + of[0], ScopeKind: "session"})
		p.worked(of[0], of[1], p.usage("told-of-"+of[0], "five", 70, ""))
		p.worked(of[0], of[1], &schema.ItemAdded{Item: schema.Item{ItemID: "told", ContextKind: "told", Title: "cat told"}})
	}
	// A gap that one shard resolves, one that the other asks about, and one of a single session.
	first, second := p.Sessions[0], p.Sessions[1]
	p.worked(first, "", &schema.MissingResolved{Missing: schema.Missing{MissingID: "gap-of-1", Status: schema.StatusResolved, ResolutionRefs: schema.Refs("i")}})
	asked := gapOf("gap-of-0", "user-9")
	asked.Status, asked.CandidateItemRefs = schema.StatusRequested, schema.Refs("left-0")
	p.worked(second, "", &schema.MissingRequested{Missing: asked})
}

// worked publishes a fact of an attempt at a task, by its own source unless that is empty.
func (p *person) worked(session, source string, fact schema.Fact) {
	p.T.Helper()
	e := p.Event(session, "", fact)
	e.TaskID, e.AttemptID, e.RunID = "task-1", "attempt-"+session, "run-"+session
	if source != "" {
		e.Source = source
	}
	p.Send(e.Binary())
}

// usage returns a billed call, which reads nothing of the cache.
func (p *person) usage(call, system string, written int64, reason string) schema.Fact {
	f := &schema.UsageRecorded{
		CallID: call, Model: "m", SystemDigest: system, LineageID: "lineage", GapSeconds: new(1.5), TotalTokens: new(written + 3),
		Usage: schema.ProviderUsage{UncachedInput: new(int64(10)), CacheRead: new(int64(0)), CacheWrite: &written, Output: new(int64(5))},
	}
	if reason != "" {
		f.Metadata = map[string]any{"cache_miss_reason": reason}
	}
	return f
}

// chose publishes a selection. One signal is on both shards, and one on each.
func (p *person) chose(session string, i int) {
	candidate := func(id string, near float64, reason schema.OmissionReason) schema.Candidate {
		return schema.Candidate{ItemRef: schema.Ref(id), Tokens: new(int64(10 + i)), Reason: reason, Signals: map[string]float64{"near": near, fmt.Sprint("own-", i): near / 2}}
	}
	f := &schema.SelectionCompleted{
		Selection: schema.Selection{SelectionID: "selection", SurfaceID: "surface", Candidates: schema.Refs("taken", "left", fmt.Sprint("left-", i))},
		Selected:  []schema.Candidate{candidate("taken", 0.9, "")},
		Omitted:   []schema.Candidate{candidate("left", 0.2+float64(i)/7, schema.OmitBudgetLimit), candidate(fmt.Sprint("left-", i), 0.1, schema.OmitLowRelevance)},
	}
	p.worked(session, "", f)
}

// gapOf returns an open gap.
func gapOf(id string, owner schema.Ref) schema.Missing {
	return schema.Missing{
		MissingID: id, Status: schema.StatusOpen, Question: "what is " + id + "?", Severity: schema.SeverityLow, RequestedFrom: owner,
		RequestedAction: "say", UserSummary: "a gap",
	}
}

// asked publishes gaps of a session.
func (p *person) asked(session string, i int) {
	for _, id := range []string{"gap-of-", "gap-alone-", "gap-left-"} {
		m := gapOf(fmt.Sprint(id, i), "user-1")
		if id == "gap-left-" {
			m.CandidateItemRefs = schema.Refs("left")
		}
		p.worked(session, "", &schema.MissingDetected{Missing: m})
	}
}

// sameRuns compares packs of runs and tasks whose session is not given. A task of both sessions needs it.
func (p *person) sameRuns() {
	p.T.Helper()
	for _, session := range p.Sessions {
		p.samePacks([]string{"--run", "run-" + session}, []string{"--task", "task-1", "--attempt", "attempt-" + session})
	}
	out := filepath.Join(p.Data, "none")
	ambiguous := []string{"evidence", "export", "--task", "task-1", "--out", out}
	got, code := p.Printed(p.Shards[0].ClickHouseDSN(), "", ambiguous)
	want, _ := p.Printed(p.DSN, "", ambiguous)
	if code != cli.ExitUsage || got != want || !strings.Contains(want, "name one with --session and --tenant") {
		p.T.Errorf("a task of two sessions ended with %d: %s\nand on one machine %s", code, got, want)
	}
	if _, stderr, code := p.Run("evidence", "export", "--run", "run-perso", "--out", out); code != cli.ExitFailed || !strings.Contains(stderr, "on a cluster give the whole id") {
		p.T.Errorf("a beginning of a run's id ended with %d: %s", code, stderr)
	}
}

// sameGaps compares commands about the session of each shard. Some of its gaps have steps in the other session.
func (p *person) sameGaps() {
	p.T.Helper()
	report, second := filepath.Join(p.Data, "gaps.html"), p.Sessions[1]
	for says, args := range map[string][]string{
		"what is gap-of-0?": {"report", "--session", p.Sessions[0], "--out", report},
		"what is gap-of-1?": {"report", "--session", second, "--out", report},
		"gap-of-0":          {"why", "--turn", "turn-" + second, "--session", second, "--item", "left-0", "-o", "csv"},
	} {
		got, code := p.Printed(p.Shards[0].ClickHouseDSN(), report, args)
		want, _ := p.Printed(p.DSN, report, args)
		if at := differAt(got, want); code != cli.ExitDone || at >= 0 || !strings.Contains(want, says) {
			at = max(at-100, 0)
			p.T.Errorf("%v ended with %d and printed\n%.600s\nand on one machine\n%.600s", args, code, got[min(at, len(got)):], want[min(at, len(want)):])
		}
	}
}

// sameSpread compares the questions about the facts of spread with one machine. Each answer has rows.
func (p *person) sameSpread() {
	p.T.Helper()
	shards := p.Ledgers()
	for name, least := range map[string]int64{
		"cache-miss-reasons": 2, "elision-savings": 2, "resources": 2, "selection-signals": 3, "tasks": 2, "tellings": 6, "items-by-kind": 4, "fidelity": 2, "tools-by-name": 0, "model-usage": 1, "tokenizer-error": 2,
		"omitted-then-missing": 2, "open-gaps": 5, "gaps": 1, "unreferenced-results": 0,
	} {
		q, err := queries.Get(name)
		if err != nil {
			p.T.Fatal(err)
		}
		given := map[string]string{"tenant": "acme"}
		if shardtest.Has(q, "as_of") {
			given["as_of"] = "2040-01-01T00:00:00Z"
		}
		if !shardtest.Required(q) {
			if rows := p.Same(shards, q, given); rows < least {
				p.T.Errorf("%s has %d rows, want %d", name, rows, least)
			}
		}
		for i, session := range p.Sessions {
			given["session_id"] = session
			if rows := p.Same(shards, q, given); rows < min(least, 1) {
				p.T.Errorf("%s has no rows of shard %d", name, i+1)
			}
		}
		delete(given, "session_id")
		if given["limit"] = "1"; shardtest.Has(q, "limit") && !shardtest.Required(q) {
			p.Same(shards, q, given)
		}
	}
}
