package document

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// This file is where the words of Agent Context become those of Agent Evidence. A
// document that has a mapped word keeps our own beside it, so that nothing is lost;
// a word that no table has goes through as it is where the other side is open, and is
// "unknown" where it is not.

// omissionReasons maps why a candidate was left out to the omission reasons of Agent
// Evidence. Ours stands beside it as context_reason.
var omissionReasons = map[schema.OmissionReason]string{
	schema.OmitBudgetLimit:         "out_of_scope",            // no room in the window
	schema.OmitTooLarge:            "out_of_scope",            // no room for it in any window
	schema.OmitNotVisibleToTarget:  "out_of_scope",            // not for this reader
	schema.OmitLowRelevance:        "low_relevance",           //
	schema.OmitDuplicate:           "duplicate",               //
	schema.OmitSupersededBySummary: "duplicate",               // a summary says it
	schema.OmitStale:               "stale",                   //
	schema.OmitPolicyBlocked:       "unsafe",                  // a policy forbids it
	schema.OmitSensitive:           "private",                 //
	schema.OmitPermissionMissing:   "unavailable",             // the run may not read it
	schema.OmitUnsupportedMedia:    "unavailable",             // the target cannot read it
	schema.OmitCustom:              string(schema.OmitCustom), // theirs has no word for it and is open
}

// omissionReason returns their word for an omission.
func omissionReason(ours schema.OmissionReason) string {
	if theirs, ok := omissionReasons[ours]; ok {
		return theirs
	}
	if ours == "" {
		return "unavailable"
	}
	return string(ours)
}

// redactionKinds maps how much of a record is withheld to the kind of a redaction.
// Their list is closed. "none" is no redaction, and "" is what the fact does not say.
var redactionKinds = map[schema.RedactionState]string{
	schema.RedactionMasked:        "mask",
	schema.RedactionRemoved:       "remove",
	schema.RedactionSummarized:    "summarize",
	schema.RedactionEncryptedRef:  "tokenize", // a reference that only a key turns back
	schema.RedactionPolicyBlocked: "withhold",
	schema.RedactionUnknown:       "withhold",
	schema.RedactionNone:          "withhold",
}

// Kinds of redaction that do not come from a redaction state.
const (
	kindExpired    = "expire"   // an erasure took the content
	kindPseudonyms = "tokenize" // the ids of a pack are pseudonyms
)

// redactionKind returns their word for a redaction state; one that we do not know
// withholds something.
func redactionKind(ours schema.RedactionState) string {
	if theirs, ok := redactionKinds[ours]; ok {
		return theirs
	}
	return "withhold"
}

// missingReasons maps the state of a gap to the reason of a missing fact. A gap that
// is resolved is none.
var missingReasons = map[schema.MissingStatus]string{
	schema.StatusOpen:      "not_collected", // nobody was asked
	schema.StatusRequested: "not_collected", // asked, nothing came yet
	schema.StatusWaiting:   "not_collected",
	schema.StatusDeclined:  "unavailable",
	schema.StatusBlocked:   "unavailable",
	schema.StatusExpired:   "expired",
}

// missingReason returns their word for the state of a gap.
func missingReason(ours schema.MissingStatus) string {
	if theirs, ok := missingReasons[ours]; ok {
		return theirs
	}
	return "unknown"
}

// kind says what an id is the id of. It is the first part of the evidence id, since
// ours are unique only among their like.
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

// things says of each kind what its node is in provenance.json, and where the
// documents of its records stand.
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

// evidenceID maps an id of ours to one of Agent Evidence: the kind, a colon and the
// id, by [schema.EvidenceID], which can be undone. An id for which that would be too
// long becomes "x-sha256:" and the hash of kind and id in hexadecimal, a form that no
// other id has; then, and where it is escaped, the node and the source have the id as
// it is in the member "id".
func evidenceID(k kind, id string) string {
	name := string(k) + ":" + id
	if mapped, err := schema.EvidenceID(name); err == nil {
		return mapped
	}
	sum := sha256.Sum256([]byte(name))
	return "x-sha256:" + hex.EncodeToString(sum[:])
}

// plainID maps an id that stands alone, such as that of a session in a scope. One
// that would be too long becomes the hash of itself as evidenceID has it.
func plainID(id string) string {
	if mapped, err := schema.EvidenceID(id); err == nil {
		return mapped
	}
	sum := sha256.Sum256([]byte(id))
	return "x-sha256:" + hex.EncodeToString(sum[:])
}
