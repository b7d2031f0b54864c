package schema

import (
	"slices"
	"strconv"
	"strings"
)

// Type names a kind of fact by its name in the standard, such as "context.selection.completed".
// Type is the event_type of the data. [Type.CloudEventsType] is the CloudEvents type attribute.
type Type string

// The event types of version 1, in the order of the life of a window.
const (
	TypeScopeOpened         Type = "context.scope.opened"
	TypeGrantIssued         Type = "context.grant.issued"
	TypeGrantNarrowed       Type = "context.grant.narrowed"
	TypeGrantDenied         Type = "context.grant.denied"
	TypeResourceResolved    Type = "context.resource.resolved"
	TypeResourceAccessed    Type = "context.resource.accessed"
	TypeScratchpadLoaded    Type = "context.scratchpad.loaded"
	TypeScratchpadWritten   Type = "context.scratchpad.written"
	TypeSurfaceCreated      Type = "context.surface.created"
	TypeSurfaceUpdated      Type = "context.surface.updated"
	TypeItemAdded           Type = "context.item.added"
	TypeItemUpdated         Type = "context.item.updated"
	TypeItemRemoved         Type = "context.item.removed"
	TypeLogAppended         Type = "context.log.appended"
	TypeSelectionStarted    Type = "context.selection.started"
	TypeSelectionCompleted  Type = "context.selection.completed"
	TypeBudgetApplied       Type = "context.budget.applied"
	TypePressureApplied     Type = "context.pressure.applied"
	TypeElisionApplied      Type = "context.elision.applied"
	TypeElisionReloaded     Type = "context.elision.reloaded"
	TypeAssemblyCreated     Type = "context.assembly.created"
	TypeInjectionApplied    Type = "context.injection.applied"
	TypeInjectionRemoved    Type = "context.injection.removed"
	TypeCompactionStarted   Type = "context.compaction.started"
	TypeCompactionCompleted Type = "context.compaction.completed"
	TypeCompactionFailed    Type = "context.compaction.failed"
	TypeCompactionDiscarded Type = "context.compaction.discarded"
	TypeSummaryCreated      Type = "context.summary.created"
	TypeSummaryRefreshed    Type = "context.summary.refreshed"
	TypeRedactionApplied    Type = "context.redaction.applied"
	TypeRedactionRevoked    Type = "context.redaction.revoked"
	TypeMissingDetected     Type = "context.missing.detected"
	TypeMissingRequested    Type = "context.missing.requested"
	TypeMissingResolved     Type = "context.missing.resolved"
	TypeUsageRecorded       Type = "context.usage.recorded"
	TypeEnvelopeCreated     Type = "context.envelope.created"
	TypeExported            Type = "context.exported"
	TypeErasureApplied      Type = "context.erasure.applied"
	TypeFactsDropped        Type = "context.facts.dropped"
)

// factories makes an empty fact for each known type. factories is the only list of types.
var factories = map[Type]func() Fact{
	TypeScopeOpened:         func() Fact { return new(ScopeOpened) },
	TypeGrantIssued:         func() Fact { return new(GrantIssued) },
	TypeGrantNarrowed:       func() Fact { return new(GrantNarrowed) },
	TypeGrantDenied:         func() Fact { return new(GrantDenied) },
	TypeResourceResolved:    func() Fact { return new(ResourceResolved) },
	TypeResourceAccessed:    func() Fact { return new(ResourceAccessed) },
	TypeScratchpadLoaded:    func() Fact { return new(ScratchpadLoaded) },
	TypeScratchpadWritten:   func() Fact { return new(ScratchpadWritten) },
	TypeSurfaceCreated:      func() Fact { return new(SurfaceCreated) },
	TypeSurfaceUpdated:      func() Fact { return new(SurfaceUpdated) },
	TypeItemAdded:           func() Fact { return new(ItemAdded) },
	TypeItemUpdated:         func() Fact { return new(ItemUpdated) },
	TypeItemRemoved:         func() Fact { return new(ItemRemoved) },
	TypeLogAppended:         func() Fact { return new(LogAppended) },
	TypeSelectionStarted:    func() Fact { return new(SelectionStarted) },
	TypeSelectionCompleted:  func() Fact { return new(SelectionCompleted) },
	TypeBudgetApplied:       func() Fact { return new(BudgetApplied) },
	TypePressureApplied:     func() Fact { return new(PressureApplied) },
	TypeElisionApplied:      func() Fact { return new(ElisionApplied) },
	TypeElisionReloaded:     func() Fact { return new(ElisionReloaded) },
	TypeAssemblyCreated:     func() Fact { return new(AssemblyCreated) },
	TypeInjectionApplied:    func() Fact { return new(InjectionApplied) },
	TypeInjectionRemoved:    func() Fact { return new(InjectionRemoved) },
	TypeCompactionStarted:   func() Fact { return new(CompactionStarted) },
	TypeCompactionCompleted: func() Fact { return new(CompactionCompleted) },
	TypeCompactionFailed:    func() Fact { return new(CompactionFailed) },
	TypeCompactionDiscarded: func() Fact { return new(CompactionDiscarded) },
	TypeSummaryCreated:      func() Fact { return new(SummaryCreated) },
	TypeSummaryRefreshed:    func() Fact { return new(SummaryRefreshed) },
	TypeRedactionApplied:    func() Fact { return new(RedactionApplied) },
	TypeRedactionRevoked:    func() Fact { return new(RedactionRevoked) },
	TypeMissingDetected:     func() Fact { return new(MissingDetected) },
	TypeMissingRequested:    func() Fact { return new(MissingRequested) },
	TypeMissingResolved:     func() Fact { return new(MissingResolved) },
	TypeUsageRecorded:       func() Fact { return new(UsageRecorded) },
	TypeEnvelopeCreated:     func() Fact { return new(EnvelopeCreated) },
	TypeExported:            func() Fact { return new(Exported) },
	TypeErasureApplied:      func() Fact { return new(ErasureApplied) },
	TypeFactsDropped:        func() Fact { return new(FactsDropped) },
}

// Types returns every known type, sorted by name.
func Types() []Type {
	types := make([]Type, 0, len(factories))
	for t := range factories {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}

// OperatorTypes returns the facts that only the operator of an installation publishes. They are
// statements about the ledger itself. Accounts of tenants may not publish on their subjects.
func OperatorTypes() []Type { return []Type{TypeErasureApplied, TypeRedactionRevoked} }

// LastingTypes returns the facts that never leave an installation: what may not come back, and what
// was erased. Retention copies them to [LastingStream] before their messages leave a stream.
func LastingTypes() []Type {
	return []Type{TypeRedactionApplied, TypeRedactionRevoked, TypeErasureApplied}
}

const cloudEventsPrefix = "dev.ctxledger."

// CloudEventsType returns the CloudEvents type attribute, such as
// "dev.ctxledger.context.selection.completed.v1".
func (t Type) CloudEventsType() string { return cloudEventsPrefix + string(t) + t.versionSuffix(".v") }

// DataSchema returns the dataschema attribute, such as
// "urn:ctxledger:schema:context.selection.completed:v1".
func (t Type) DataSchema() string { return "urn:ctxledger:schema:" + string(t) + t.versionSuffix(":v") }

// versionSuffix returns the separator and the current version of t.
func (t Type) versionSuffix(separator string) string {
	return separator + strconv.Itoa(contract.of(t))
}

// Known reports whether this version of the contract defines t.
func (t Type) Known() bool { return factories[t] != nil }

// New returns an empty fact of type t. New returns nil if t is unknown.
func (t Type) New() Fact {
	if make := factories[t]; make != nil {
		return make()
	}
	return nil
}

// ObjectVerb splits t into the two tokens of its subject. "context.selection.completed" is
// ("selection", "completed"). The two-part "context.exported" is ("context", "exported").
func (t Type) ObjectVerb() (object, verb string) {
	object, verb, found := strings.Cut(strings.TrimPrefix(string(t), "context."), ".")
	if !found {
		return "context", object
	}
	return object, verb
}

// ParseCloudEventsType converts a CloudEvents type attribute into a Type, for every version that
// this package reads. The type need not be known to this version. The error names the expected
// form.
func ParseCloudEventsType(s string) (Type, error) {
	t, _, err := contract.parse(s)
	return t, err
}
