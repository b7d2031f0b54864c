package standard

import (
	"fmt"
	"github.com/ctxledger/ctxledger/schema"
	"slices"
	"strings"
)

// runtimeProfile is the schemaVersion of the Lime profile of Agent Runtime. The profile is the
// stricter of its two event schemas.
const runtimeProfile = "lime-profile-0.4.0"

// runtimeIDs are the ids with a member in an Agent Runtime event. Other ids are in the
// correlation object.
var runtimeIDs = []string{"runtime_id", "session_id", "thread_id", "turn_id", "task_id", "run_id", "attempt_id", "step_id", "tool_call_id", "action_id", "evidence_id"}

// RuntimeEvent returns e as an event of the Agent Runtime standard, Lime profile, with camelCase
// names. The same event gives the same bytes.
//
// The runtime defines four events of context. A completed selection, including its omissions, is
// context.resolved. A compaction is context.compaction.started, .completed or .failed. A
// discarded compaction and a fact of any other type yield [ErrNoShape]. The payload refers to the
// records. The payload holds no content and no status of the runtime. Ids that only ctxledger defines
// (tenant, agent, context, …) are in correlation.
//
// The profile requires runtime, session, thread, turn and sequence of every context event. For an
// event without one of them, the error is [schema.Violations] with a [schema.CodeRequired] for
// each missing id. An event that does not meet the contract is refused as in [Document].
func RuntimeEvent(e *schema.Event) ([]byte, error) {
	fact, err := e.Accepted()
	if err != nil {
		return nil, err
	}
	r, err := runtimeRecord(e, fact)
	if err != nil {
		return nil, err
	}
	return r.encode()
}

func runtimeRecord(e *schema.Event, fact schema.Fact) (record, error) {
	kind, payload := runtimePayload(fact)
	if payload == nil {
		return nil, fmt.Errorf("%s: %w", fact.EventType(), ErrNoShape)
	}
	if found := checkRuntimeIDs(e); len(found) > 0 {
		return nil, found
	}
	r := record{
		"type": kind, "eventId": e.ID, "timestamp": schema.FormatTime(e.Time), "schemaVersion": runtimeProfile,
		"sequence": *e.Sequence, "payload": payload,
	}
	correlation := map[string]string{"source": e.Source}
	for _, f := range schema.CorrelationFields {
		switch id := *f.Of(&e.Correlation); {
		case id == "":
		case slices.Contains(runtimeIDs, f.Column):
			r[camelCase(f.Column)] = id
		default:
			correlation[camelCase(f.Column)] = id
		}
	}
	for name, id := range map[string]string{"correlationId": e.CorrelationID, "causationId": e.CausationID} {
		if id != "" {
			correlation[name] = id
		}
	}
	r["correlation"] = correlation
	if refs := runtimeRefs(e, fact.Base()); len(refs) > 0 {
		r["refs"] = refs
	}
	if trace, span, ok := traceIDs(e.TraceParent); ok {
		r["traceId"], r["spanId"] = trace, span
	}
	return r, nil
}

// checkRuntimeIDs reports the ids that the profile requires and e does not have.
func checkRuntimeIDs(e *schema.Event) (found schema.Violations) {
	for _, a := range [...]schema.Attribute{
		{Name: "runtimeid", Value: e.RuntimeID}, {Name: "sessionid", Value: e.SessionID}, {Name: "threadid", Value: e.ThreadID},
		{Name: "turnid", Value: e.TurnID}, {Name: "sequence", Value: schema.FormatSequence(e.Sequence)},
	} {
		if a.Value == "" {
			found = append(found, &schema.Violation{Code: schema.CodeRequired, Pointer: "/" + a.Name, Found: "nothing", Fix: "the runtime's profile requires it in every context event; send the attribute, or do not export this fact"})
		}
	}
	return found
}

// runtimeRefs returns the fact's references that a runtime may use.
func runtimeRefs(e *schema.Event, base *schema.Common) map[string]any {
	refs := make(map[string]any)
	if e.ContextID != "" {
		refs["contextId"] = e.ContextID
	}
	for name, list := range map[string][]schema.Ref{"policyRefs": base.PolicyRefs, "evidenceRefs": base.EvidenceRefs, "telemetryRefs": base.TelemetryRefs} {
		if len(list) > 0 {
			refs[name] = list
		}
	}
	return refs
}

// traceIDs reads the trace and span of a traceparent (W3C Trace Context).
func traceIDs(parent string) (trace, span string, ok bool) {
	fields := strings.Split(parent, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || len(fields[2]) != 16 {
		return "", "", false
	}
	return fields[1], fields[2], true
}

// camelCase converts a name of ctxledger into a name of the runtime: turn_id becomes turnId.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// runtimeResolved is the payload of context.resolved.
type runtimeResolved struct {
	SelectionID      string            `json:"selectionId"`
	SurfaceID        string            `json:"surfaceId"`
	CallID           string            `json:"callId,omitempty"`
	SelectedItemRefs []schema.Ref      `json:"selectedItemRefs"`
	OmittedItemRefs  []runtimeOmission `json:"omittedItemRefs"`
	SelectionPolicy  schema.Ref        `json:"selectionPolicy,omitzero"`
	BudgetRef        schema.Ref        `json:"budgetRef,omitzero"`
	Part             *int64            `json:"part,omitempty"`
	Parts            *int64            `json:"parts,omitempty"`
}

type runtimeOmission struct {
	ItemRef schema.Ref            `json:"itemRef"`
	Reason  schema.OmissionReason `json:"reason"`
}

// runtimeCompaction is the payload of the compaction events.
type runtimeCompaction struct {
	CompactionID     string                   `json:"compactionId"`
	Scope            string                   `json:"scope"`
	CallID           string                   `json:"callId,omitempty"`
	Trigger          schema.CompactionTrigger `json:"trigger,omitempty"`
	Method           schema.CompactionMethod  `json:"method,omitempty"`
	SourceItemRefs   []schema.Ref             `json:"sourceItemRefs,omitempty"`
	SourceWindow     *runtimeSourceWindow     `json:"sourceWindow,omitempty"`
	SummaryRef       schema.Ref               `json:"summaryRef,omitzero"`
	RetainedTailRefs []schema.Ref             `json:"retainedTailRefs,omitempty"`
	TokensBefore     *int64                   `json:"tokensBefore,omitempty"`
	TokensAfter      *int64                   `json:"tokensAfter,omitempty"`
	Reason           string                   `json:"reason,omitempty"`
}

type runtimeSourceWindow struct {
	ThreadID      string     `json:"threadId,omitempty"`
	FirstItemRef  schema.Ref `json:"firstItemRef,omitzero"`
	LastItemRef   schema.Ref `json:"lastItemRef,omitzero"`
	FirstPosition *int64     `json:"firstPosition,omitempty"`
	LastPosition  *int64     `json:"lastPosition,omitempty"`
	ItemCount     *int64     `json:"itemCount,omitempty"`
	Tokens        *int64     `json:"tokens,omitempty"`
}

// runtimePayload returns the runtime's type and payload for a fact. The payload is nil if the
// runtime has no event for the fact.
func runtimePayload(fact schema.Fact) (kind string, payload any) {
	switch f := fact.(type) {
	case *schema.SelectionCompleted:
		return "context.resolved", newRuntimeResolved(f)
	case *schema.CompactionStarted:
		return string(schema.TypeCompactionStarted), newRuntimeCompaction(&f.Compaction)
	case *schema.CompactionCompleted:
		return string(schema.TypeCompactionCompleted), newRuntimeCompaction(&f.Compaction)
	case *schema.CompactionFailed:
		return string(schema.TypeCompactionFailed), newRuntimeCompaction(&f.Compaction)
	}
	return "", nil
}

func newRuntimeResolved(s *schema.SelectionCompleted) *runtimeResolved {
	p := &runtimeResolved{
		SelectionID: s.SelectionID, SurfaceID: s.SurfaceID, CallID: s.CallID,
		SelectionPolicy: s.Policy, BudgetRef: s.BudgetRef, Part: s.Part, Parts: s.Parts,
	}
	for _, c := range s.Selected {
		p.SelectedItemRefs = append(p.SelectedItemRefs, c.ItemRef)
	}
	for _, c := range s.Omitted {
		p.OmittedItemRefs = append(p.OmittedItemRefs, runtimeOmission{c.ItemRef, c.Reason})
	}
	return p
}

func newRuntimeCompaction(c *schema.Compaction) *runtimeCompaction {
	return &runtimeCompaction{
		CompactionID: c.CompactionID, Scope: c.Scope, CallID: c.CallID, Trigger: c.Trigger, Method: c.Method,
		SourceItemRefs: c.SourceItemRefs, SourceWindow: (*runtimeSourceWindow)(c.SourceWindow), SummaryRef: c.SummaryRef,
		RetainedTailRefs: c.RetainedTailRefs, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter, Reason: c.Reason,
	}
}
