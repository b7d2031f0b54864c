package document

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// This file maps the vocabulary of Agent Context to that of Agent Evidence. A document with a
// mapped word also contains the original word. A word without mapping stays unchanged if the target
// vocabulary is open, and becomes "unknown" if the vocabulary is closed.

// omissionReasons maps omission reasons of Agent Context to omission reasons of Agent Evidence. The
// member context_reason contains the original.
var omissionReasons = map[schema.OmissionReason]string{
	schema.OmitBudgetLimit:         "out_of_scope",            // the window has no room
	schema.OmitTooLarge:            "out_of_scope",            // no window has room
	schema.OmitNotVisibleToTarget:  "out_of_scope",            // hidden from this reader
	schema.OmitLowRelevance:        "low_relevance",           //
	schema.OmitDuplicate:           "duplicate",               //
	schema.OmitSupersededBySummary: "duplicate",               // a summary contains the item
	schema.OmitStale:               "stale",                   //
	schema.OmitPolicyBlocked:       "unsafe",                  // a policy forbids the item
	schema.OmitSensitive:           "private",                 //
	schema.OmitPermissionMissing:   "unavailable",             // the run may not read the item
	schema.OmitUnsupportedMedia:    "unavailable",             // the target cannot read the item
	schema.OmitCustom:              string(schema.OmitCustom), // Agent Evidence has no such word, and is open
}

// omissionReason returns the Agent Evidence word for an omission.
func omissionReason(ours schema.OmissionReason) string {
	if theirs, ok := omissionReasons[ours]; ok {
		return theirs
	}
	if ours == "" {
		return "unavailable"
	}
	return string(ours)
}

// redactionKinds maps redaction states to kinds of redaction. The list of kinds is closed. "none"
// means no redaction, "" means an unstated redaction.
var redactionKinds = map[schema.RedactionState]string{
	schema.RedactionMasked:        "mask",
	schema.RedactionRemoved:       "remove",
	schema.RedactionSummarized:    "summarize",
	schema.RedactionEncryptedRef:  "tokenize", // a reference that needs a key
	schema.RedactionPolicyBlocked: "withhold",
	schema.RedactionUnknown:       "withhold",
	schema.RedactionNone:          "withhold",
}

// Kinds of redaction without a redaction state.
const (
	kindExpired    = "expire"   // an erasure took the content
	kindPseudonyms = "tokenize" // the ids of a pack are pseudonyms
)

// redactionKind returns the Agent Evidence word for a redaction state. An unknown state counts as
// withholding.
func redactionKind(ours schema.RedactionState) string {
	if theirs, ok := redactionKinds[ours]; ok {
		return theirs
	}
	return "withhold"
}

// missingReasons maps the state of a gap to the reason of a missing fact. A resolved gap is not
// missing.
var missingReasons = map[schema.MissingStatus]string{
	schema.StatusOpen:      "not_collected", // nobody was asked
	schema.StatusRequested: "not_collected", // asked, without an answer yet
	schema.StatusWaiting:   "not_collected",
	schema.StatusDeclined:  "unavailable",
	schema.StatusBlocked:   "unavailable",
	schema.StatusExpired:   "expired",
}

// missingReason returns the Agent Evidence word for the state of a gap.
func missingReason(ours schema.MissingStatus) string {
	if theirs, ok := missingReasons[ours]; ok {
		return theirs
	}
	return "unknown"
}

// kind is the kind of an id. An evidence id begins with the kind, because ids are unique only
// within their kind.
type kind string

const (
	recordKind     kind = "record"
	itemKind       kind = "item"
	sourceKind     kind = "source"
	surfaceKind    kind = "surface"
	selectionKind  kind = "selection"
	budgetKind     kind = "budget"
	assemblyKind   kind = "assembly"
	injectionKind  kind = "injection"
	compactionKind kind = "compaction"
	summaryKind    kind = "summary"
	missingKind    kind = "missing"
	envelopeKind   kind = "envelope"
	redactKind     kind = "redaction"
	logKind        kind = "log"
	elisionKind    kind = "elision"
	pressureKind   kind = "pressure"
	usageKind      kind = "usage"
	grantKind      kind = "grant"
	resourceKind   kind = "resource"
	scratchpadKind kind = "scratchpad"
	packKind       kind = "pack"
	erasureKind    kind = "erasure"
	dropKind       kind = "drop"
	policyKind     kind = "policy"
	capabilityKind kind = "capability"
	evidenceKind   kind = "evidence"
	referenceKind  kind = "ref"
	runKind        kind = "run"
	attemptKind    kind = "attempt"
	turnKind       kind = "turn"
	sessionKind    kind = "session"
	threadKind     kind = "thread"
	taskKind       kind = "task"
	stepKind       kind = "step"
	toolCallKind   kind = "tool_call"
	actionKind     kind = "action"
	agentKind      kind = "agent"
	actorKind      kind = "actor"
	producerKind   kind = "producer"
)

// things maps each kind to its node in provenance.json, and to the file of its documents.
var things = map[kind]struct{ node, word, file string }{
	itemKind:       {"entity", "context_item", pack.ContextFile("items")},
	sourceKind:     {"entity", "context_source", pack.ContextFile("source_refs")},
	surfaceKind:    {"entity", "context_surface", pack.ContextFile("surfaces")},
	selectionKind:  {"entity", "context_selection", pack.ContextFile("selections")},
	budgetKind:     {"entity", "context_budget", pack.ContextFile("budgets")},
	assemblyKind:   {"entity", "context_assembly", pack.ContextFile("assemblies")},
	compactionKind: {"entity", "context_compaction", pack.ContextFile("compactions")},
	missingKind:    {"entity", "missing_context", pack.ContextFile("missing_context")},
	envelopeKind:   {"entity", "context_envelope", pack.ContextFile("envelopes")},
	injectionKind:  {"entity", "context_injection", pack.EventsFile},
	summaryKind:    {"entity", "context_summary", pack.EventsFile},
	redactKind:     {"entity", "context_redaction", pack.EventsFile},
	logKind:        {"entity", "log_entry", pack.EventsFile},
	elisionKind:    {"entity", "context_elision", pack.EventsFile},
	pressureKind:   {"entity", "context_pressure", pack.EventsFile},
	usageKind:      {"entity", "model_call_usage", pack.EventsFile},
	grantKind:      {"entity", "grant", pack.EventsFile},
	resourceKind:   {"entity", "resource", pack.EventsFile},
	scratchpadKind: {"entity", "scratchpad", pack.EventsFile},
	packKind:       {"entity", "evidence_pack", pack.EventsFile},
	erasureKind:    {"entity", "erasure", pack.EventsFile},
	dropKind:       {"entity", "dropped_facts", pack.EventsFile},
	policyKind:     {"entity", "policy", ""},
	capabilityKind: {"entity", "capability", ""},
	evidenceKind:   {"entity", "evidence", ""},
	referenceKind:  {"entity", "reference", ""},
	runKind:        {"activity", "run", ""},
	attemptKind:    {"activity", "attempt", ""},
	turnKind:       {"activity", "turn", ""},
	sessionKind:    {"activity", "session", ""},
	threadKind:     {"activity", "thread", ""},
	taskKind:       {"activity", "task", ""},
	stepKind:       {"activity", "step", ""},
	toolCallKind:   {"activity", "tool_call", ""},
	actionKind:     {"activity", "action", ""},
	agentKind:      {"agent", "agent", ""},
	actorKind:      {"agent", "actor", ""},
	producerKind:   {"agent", "producer", ""},
}

// evidenceID maps an id to an Agent Evidence id: the kind, a colon and the id in the reversible
// form of [schema.EvidenceID]. An id that would become too long becomes "x-sha256:" with the hash
// of kind and id in hexadecimal. No other id has that form. The node and the source then have the
// original id in the member "id", as for escaped ids.
func evidenceID(k kind, id string) string {
	name := string(k) + ":" + id
	if mapped, err := schema.EvidenceID(name); err == nil {
		return mapped
	}
	sum := sha256.Sum256([]byte(name))
	return "x-sha256:" + hex.EncodeToString(sum[:])
}

// plainID maps an id without kind, such as the session id of a scope. An id that would become too
// long becomes its hash, as in evidenceID.
func plainID(id string) string {
	if mapped, err := schema.EvidenceID(id); err == nil {
		return mapped
	}
	sum := sha256.Sum256([]byte(id))
	return "x-sha256:" + hex.EncodeToString(sum[:])
}
