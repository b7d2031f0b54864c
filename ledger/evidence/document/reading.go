package document

import (
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/standard"
)

// Reading is what a record says by itself: most of the work of a [Builder], and what
// can be done for many records at once.
type Reading struct {
	Record *pack.Record
	// Fact is what the event says, also against the contract, and nil where it cannot
	// be decoded or there is none.
	Fact     schema.Fact
	fact     schema.Fact   // of an event that meets the contract
	kind     standard.Kind // of the document
	document []byte        // of Agent Context that the fact states, if there is one
	sources  [][]byte      // of the item that the fact states
	err      error         // why there is no document
}

// Read reads a record.
func Read(r *pack.Record) *Reading {
	read := &Reading{Record: r}
	if r.Event == nil {
		return read
	}
	fact, found := schema.Validate(r.Event)
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
		read.sources, _ = standard.SourcesOf(r.Event, fact) // none, where they cannot be written
	}
	return read
}
