package schema

// Version is the schema_version that this package writes into every data
// object. Readers accept any.
const Version = "0.1.0"

// A Fact is the data of one event: something that happened to a context
// window. The concrete types are the structs of the fact_*.go files, always
// used as pointers.
type Fact interface {
	// EventType is the standard's name of what happened.
	EventType() Type
	// Base is the part that every fact has.
	Base() *Common
	// RecordID is the id of the record that the fact is about; it becomes the
	// CloudEvents subject.
	RecordID() string
}

// Common is the part that every data object has.
type Common struct {
	SchemaVersion string         `json:"schema_version"`           // of the Agent Context standard
	Kind          Type           `json:"event_type"`               // the standard's name of what happened
	PolicyRefs    []Ref          `json:"policy_refs,omitempty"`    // policies that it was done under
	EvidenceRefs  []Ref          `json:"evidence_refs,omitempty"`  // evidence that cites this
	TelemetryRefs []Ref          `json:"telemetry_refs,omitempty"` // spans and traces
	Metadata      map[string]any `json:"metadata,omitempty"`       // the producer's own; no part of the contract
}

// Base returns c itself, so that a struct that embeds Common satisfies [Fact].
func (c *Common) Base() *Common { return c }
