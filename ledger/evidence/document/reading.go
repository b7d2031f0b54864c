package document

import (
	"slices"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/standard"
)

// Reading is the parsed content of a record. Parsing is most of the work of a [Builder], and can
// run in parallel for many records.
type Reading struct {
	Record *pack.Record
	// Fact is the fact of the event, also in breach of the contract. Fact is nil if the event is
	// missing or cannot be decoded.
	Fact schema.Fact
	// Violations are breaches of the rules that hold for every record. The type of a newer version is
	// unknown, which is no breach.
	Violations schema.Violations
	fact       schema.Fact   // of an event that conforms to the contract
	kind       standard.Kind // kind of the document
	document   []byte        // Agent Context document of the fact, if there is one
	sources    [][]byte      // sources of the fact's item
	err        error         // the reason for a missing document
}

// Read reads a record.
func Read(r *pack.Record) *Reading {
	read := &Reading{Record: r}
	if r.Event == nil {
		return read
	}
	fact, found := schema.ValidateRecorded(r.Event)
	read.Violations = slices.DeleteFunc(slices.Clone(found), func(v *schema.Violation) bool { return v.Code == schema.CodeUnknownType })
	if read.Fact = fact; len(found) > 0 || fact == nil {
		return read
	}
	read.fact = fact
	isItem := false
	switch fact.(type) {
	case *schema.ItemAdded, *schema.ItemUpdated:
		isItem = true
	case *schema.EnvelopeCreated, *schema.SurfaceCreated, *schema.SurfaceUpdated, *schema.SelectionCompleted, *schema.BudgetApplied,
		*schema.AssemblyCreated, *schema.CompactionCompleted, *schema.MissingDetected, *schema.MissingRequested, *schema.MissingResolved:
	default:
		return read
	}
	read.kind, read.document, read.err = standard.DocumentOf(r.Event, fact)
	if read.err == nil && isItem {
		read.sources, _ = standard.SourcesOf(r.Event, fact) // nil if they cannot be written
	}
	return read
}
