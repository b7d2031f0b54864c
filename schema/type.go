package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// An upcaster converts the data of one version of a type into the next version. An upcaster is a
// pure function of the bytes: the same data always gives the same bytes on every machine. Tables
// are rebuilt from streams with both versions. An upcaster adds no values: a value that the older
// version did not have stays absent. An upcaster does not change its argument.
type upcaster func(data []byte) ([]byte, error)

// A revision is one version of one type.
type revision struct {
	kind    Type
	version int
}

// versions holds the versions of the types that a reader understands. A type has version 1 unless
// current holds another version. Every older version must have an upcaster to the next version.
//
// Additive changes stay within a version. released/ holds the released schemas, and a test refuses
// changes that are not additive. Any other change needs a new version:
//
//  1. write the upcaster in upcast_<object>.go, and enter it in upcasters under the version that it
//     reads;
//  2. enter the new version in current, and change the Go type, which the schema is generated from;
//  3. keep the golden event of the old version as testdata/upcast/<type>.v1.json, and the converted
//     event as <type>.v2.json; TestUpcast compares them;
//  4. release the new schemas below released/v2, and leave released/v1 unchanged.
//
// Writers write only the current version. Stored events keep their bytes, digests and types. Only
// readers upcast. TestUpcast tests these steps with a version 2 that does not exist.
type versions struct {
	current   map[Type]int
	upcasters map[revision]upcaster
}

// contract holds the versions that this package reads: version 1 of every type.
var contract versions

// of returns the current version of t.
func (v versions) of(t Type) int { return max(1, v.current[t]) }

// parse splits a CloudEvents type attribute into the type and its version. parse refuses versions
// that are newer than the current version. For an unknown type, it refuses every version but 1.
func (v versions) parse(s string) (Type, int, error) {
	name, ours := strings.CutPrefix(s, cloudEventsPrefix)
	if name, ok := strings.CutSuffix(name, ".v1"); ours && ok && name != "" {
		return Type(name), 1, nil
	}
	if dot := strings.LastIndex(name, ".v"); ours && dot > 0 {
		kind := Type(name[:dot])
		n, err := strconv.Atoi(name[dot+2:])
		if err == nil && n > 1 && n <= v.of(kind) && strconv.Itoa(n) == name[dot+2:] {
			return kind, n, nil
		}
	}
	return "", 0, fmt.Errorf("type %q is not of the form dev.ctxledger.<event_type>.v1", s)
}

var errNoUpcaster = errors.New("no upcaster from this version to the next version")

// upcast converts data of the given version to the current version, one version at a time. Data
// of the current version is returned unchanged. Upcasters receive only valid JSON.
func (v versions) upcast(kind Type, version int, data []byte) ([]byte, error) {
	if version < v.of(kind) {
		var valid jsontext.Value
		if err := json.Unmarshal(data, &valid); err != nil {
			return nil, err
		}
	}
	for ; version < v.of(kind); version++ {
		up := v.upcasters[revision{kind, version}]
		if up == nil {
			return nil, errNoUpcaster
		}
		var err error
		if data, err = up(data); err != nil {
			return nil, fmt.Errorf("read version %d of %s: %w", version, kind, err)
		}
	}
	return data, nil
}
