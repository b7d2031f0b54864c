package mix

import (
	"fmt"

	"github.com/ctxledger/ctxledger/schema"
)

// rares are the rare facts: single facts of the demo, and types that neither the demo nor an
// import has. They rotate over all sessions, so every type occurs.
var rares = []func(*live){
	miss,
	delegate,
	overreach,
	func(l *live) {
		l.record(&schema.ResourceResolved{Resource: schema.Resource{
			BindingID: "issues", Name: "issues", ResourceKind: "tracker", DeclaredMode: "read-write", EffectiveMode: "read", Tools: []string{"ListIssues"},
		}})
	},
	func(l *live) {
		l.record(&schema.ScratchpadLoaded{Scratchpad: scratchpad(l)})
		l.record(&schema.ScratchpadWritten{Scratchpad: scratchpad(l)})
	},
	func(l *live) {
		l.record(&schema.SurfaceUpdated{Surface: schema.Surface{
			SurfaceID: "surface:workspace", Scope: "session", SurfaceKind: "workspace", AvailableItemRefs: l.refs(), CapabilityRefs: schema.Refs("repo"), Visibility: []string{"model", "tool"},
		}})
	},
	func(l *live) {
		p := l.window[len(l.window)-1]
		l.record(&schema.ItemUpdated{Item: schema.Item{
			ItemID: p.id, ContextKind: "user_message", Title: "user message", ContentMode: schema.ContentOpaque, ContentDigest: l.digest(),
			TokenEstimate: new(int64(p.tokens)), Estimator: "o200k_base", Visibility: []string{"model"}, Layer: p.layer, Role: p.role,
		}})
	},
	func(l *live) {
		l.record(&schema.ItemRemoved{ItemID: fmt.Sprintf("draft-%d", l.turn), Reason: "superseded_by_summary"})
	},
	func(l *live) {
		l.record(&schema.SelectionStarted{Selection: schema.Selection{
			SelectionID: fmt.Sprintf("selection:turn-%d", l.turn), SurfaceID: "surface:workspace", Query: "where is the retry limit set", Intent: "debug",
			ActorRef: "agentd", ModelRef: model, Candidates: l.refs(),
		}})
	},
	func(l *live) {
		l.record(&schema.ElisionReloaded{Elision: schema.Elision{
			PassID: fmt.Sprintf("reload:turn-%d", l.turn), Policy: "before_last_user", Trigger: "model_request",
			ElidedItemRefs: []schema.Elided{{ItemRef: "read-01:result", ToolCallID: "read-01", TokensBefore: new(int64(14)), TokensAfter: new(int64(912))}},
			TokensBefore:   new(int64(14)), TokensAfter: new(int64(912)),
		}})
	},
	func(l *live) {
		l.record(&schema.CompactionStarted{Compaction: attempt(l, "")})
		l.record(&schema.CompactionFailed{Compaction: attempt(l, "the summariser returned nothing")})
	},
	func(l *live) {
		l.record(&schema.CompactionDiscarded{Compaction: attempt(l, "the user interrupted")})
	},
	func(l *live) {
		l.record(&schema.SummaryRefreshed{Summary: schema.Summary{
			SummaryID: "running-log", SummaryKind: "running_log", ContentRef: schema.Ref("artifact:///logs/" + l.ids.SessionID), ContentDigest: l.digest(),
			Tokens: new(int64(l.between(200, 900))), CoversThroughPosition: new(l.position), RefreshPolicy: "every_turn",
		}})
	},
	func(l *live) {
		l.record(&schema.Exported{PackID: "pack-" + l.ids.TurnID, Scope: "turn", Digest: "sha256:" + l.hex(32), Checkpoint: "ctxledger." + l.ids.Tenant + "/" + fmt.Sprint(l.sequence)})
	},
	func(l *live) {
		l.record(&schema.ErasureApplied{
			Common: schema.Common{PolicyRefs: schema.Refs("policy:erasure")}, ErasureID: "erasure-" + l.hex(4), ErasedSubject: "user-" + l.hex(3), Reason: "user_request",
			Records: []schema.ErasedRecord{{Stream: schema.EventStream, Sequence: 1 + l.sequence, Leaf: l.hex(32)}},
		})
	},
	func(l *live) {
		lost := [2]int64{l.sequence + 1, l.sequence + 2}
		l.sequence = lost[1] // a dropped fact has a sequence
		l.record(&schema.FactsDropped{
			DropID: "drop-" + l.ids.TurnID, Sequences: []schema.SequenceRanges{{Source: l.source, Ranges: [][2]int64{lost}}},
			Count: new(int64(2)), Reason: "the queue was full",
		})
	},
}

func recordRare(l *live) {
	rares[l.generator.rare%len(rares)](l)
	l.generator.rare++
}

// miss records a gap from its detection to its end.
func miss(l *live) {
	gap := schema.Missing{
		MissingID: "missing-" + l.id(), Scope: "turn", Question: "Where are the exit codes documented for users?", NeededFor: "a complete answer",
		Severity: schema.SeverityMedium, CandidateSources: []map[string]any{{"kind": "file", "hint": "docs/exit-codes.md"}},
		RequestedFrom: "user", RequestedAction: "name the page, or say that there is none",
		UserSummary: "I could not find a page about exit codes and answered from the source alone.", Status: schema.StatusOpen,
	}
	l.record(&schema.MissingDetected{Missing: gap})
	gap.Status = schema.StatusRequested
	l.record(&schema.MissingRequested{Missing: gap})
	gap.Status, gap.ResolutionRefs = schema.StatusResolved, schema.Refs("user-1")
	l.record(&schema.MissingResolved{Missing: gap})
}

// delegate opens a child run with fewer grants.
func delegate(l *live) {
	child := l.id()
	asChild := func(c *schema.Correlation) { c.ParentRunID, c.RunID, c.Agent = c.RunID, child, "reviewer" }
	l.record(&schema.ScopeOpened{
		RunID: child, ParentRunID: l.ids.RunID, RootRunID: l.ids.RootRunID, ThreadID: l.ids.ThreadID, ParentThreadID: l.ids.ThreadID, ScopeKind: "subagent",
		Depth: new(int64(1)), MaxDepth: new(int64(1)), Tags: []string{"review"}, InheritedTags: []string{"interactive"}, InheritedFields: []string{"thread_id", "tags"},
	}, asChild)
	l.record(&schema.GrantNarrowed{Grant: schema.Grant{
		GrantID: "grant:" + child, Grants: []string{"app/repo"}, Requested: &[]string{"app/repo/docs"}, Effective: []string{"app/repo/docs"}, Rule: "narrow_only",
	}}, asChild)
}

// overreach requests more than the run may use, and is refused.
func overreach(l *live) {
	l.record(&schema.GrantDenied{Grant: schema.Grant{
		GrantID: "grant:run-greedy-" + l.ids.TurnID, Grants: []string{"app/repo"}, Requested: &[]string{"app"}, Rule: "narrow_only", Code: "NAMESPACE_GRANT_INVALID",
		Reason: `Invalid namespace grant "app": grant is not within parent context [app/repo]`,
	}})
}

func scratchpad(l *live) schema.Scratchpad {
	return schema.Scratchpad{
		ScratchpadID: "pad-" + l.ids.TurnID, ContextIDs: []string{"notes"}, EntryCount: new(int64(2)), Tokens: new(int64(l.between(20, 200))), Digests: []string{l.digest(), l.digest()},
	}
}

// attempt is a failed compaction.
func attempt(l *live, reason string) schema.Compaction {
	return schema.Compaction{
		CompactionID: "attempt-" + l.ids.TurnID, Scope: "thread", SourceItemRefs: l.refs(), Method: schema.MethodAbstractiveSummary,
		Trigger: schema.TriggerTokenPressure, TokensBefore: new(int64(l.tokens())), Reason: reason,
	}
}
