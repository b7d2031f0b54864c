package ledger

import (
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// Range is a stretch of one stream: the messages with sequences from First to
// Last, of which Messages exist, and a digest over their exact bytes. A range
// can be read again, and its digest says whether it still is what it was.
type Range struct {
	Incarnation uuid.UUID `json:"incarnation"`
	First       uint64    `json:"first"`
	Last        uint64    `json:"last"`
	Messages    uint64    `json:"messages"`
	Digest      [32]byte  `json:"digest"`
	// RecordedAt is when the stream stored the last message.
	RecordedAt time.Time `json:"recorded_at"`
	// Epoch is that of the holder who journalled the range. It is part of the
	// tokens, so that only this entry of the journal, whoever ends it, has them.
	Epoch uint64 `json:"epoch,omitzero"`
}

// Same reports whether o names the same messages with the same bytes.
func (r Range) Same(o Range) bool {
	return r.Incarnation == o.Incarnation && r.First == o.First && r.Last == o.Last && r.Messages == o.Messages && r.Digest == o.Digest
}

// Batch is what one range becomes: the rows of every table, in the form in which
// they are sent. It is a pure value: the same messages give the same batch. It is
// not safe for concurrent use.
type Batch struct {
	Range
	events       rowsOf[EventRow]
	scopes       rowsOf[scopeRow]
	items        rowsOf[itemRow]
	decisions    rowsOf[decisionRow]
	windows      rowsOf[windowRow]
	placements   rowsOf[placementRow]
	replacements rowsOf[replacementRow]
	redactions   rowsOf[redactionRow]
	missing      rowsOf[missingRow]
	calls        rowsOf[callRow]
	logItems     rowsOf[logItemRow]
	quarantine   rowsOf[quarantineRow]
	duplicates   rowsOf[duplicateRow]
	replays      rowsOf[replayRow]
	logHashes    rowsOf[logRow]
	// Rules are those that the rows were made by. The zero value is NewestRules.
	Rules Rules
	// Log is the transparency log with the batch's leaves. The zero Log is none.
	Log Log
}

// tables lists the blocks in the order in which they are written. Events come
// first: a range whose events are there but whose other rows are not is found
// by its missing commit.
func (b *Batch) tables() []tableBlock {
	return []tableBlock{
		{"events", &b.events.block}, {"scopes", &b.scopes.block}, {"items", &b.items.block}, {"decisions", &b.decisions.block},
		{"windows", &b.windows.block}, {"placements", &b.placements.block}, {"replacements", &b.replacements.block},
		{"redactions", &b.redactions.block}, {"missing", &b.missing.block}, {"calls", &b.calls.block}, {"log_items", &b.logItems.block},
		{"quarantine", &b.quarantine.block}, {"duplicates", &b.duplicates.block}, {"replays", &b.replays.block},
		{"log_hashes", &b.logHashes.block},
	}
}

// Reset empties the batch for another range. It keeps the room of the last one,
// so that a batch that is used again allocates little. Nothing may be writing it.
func (b *Batch) Reset(r Range) {
	b.Range, b.Log, b.Rules = r, Log{}, 0
	for _, t := range b.tables() {
		t.reset()
	}
}

// Rows returns the number of rows by table, without the empty ones.
func (b *Batch) Rows() map[string]uint64 {
	counts := make(map[string]uint64)
	for _, t := range b.tables() {
		if t.rows > 0 {
			counts[t.table] = uint64(t.rows)
		}
	}
	return counts
}

// Add derives the rows of one event. A nil fact is an event of a type that
// this version does not know: it is kept in events and nowhere else. Nothing of
// event or fact is kept but copies.
func (b *Batch) Add(e *schema.Event, fact schema.Fact, at Position) {
	b.AddDerived(e, fact, at, Derived{Tenant: e.Tenant, Digest: e.Digest(), Identity: e.Identity()})
}

// Derived is what follows from an event and is kept with it.
type Derived struct {
	Tenant   string // of the rows; see [Rules]
	Digest   [32]byte
	Identity uint64
	Salt     proof.Salt // of its leaf in the log; zero where it has none
}

// AddDerived is Add for callers that have already computed what follows from the event.
func (b *Batch) AddDerived(e *schema.Event, fact schema.Fact, at Position, d Derived) {
	b.events.add(newEventRow(e, at, &d))
	h := headOf(e, at)
	h.Tenant = d.Tenant
	switch f := fact.(type) {
	case *schema.ScopeOpened:
		b.scopes.add(runRow(h, f))
	case *schema.GrantIssued:
		b.scopes.add(grantRow(h, "issued", &f.Common, &f.Grant))
	case *schema.GrantNarrowed:
		b.scopes.add(grantRow(h, "narrowed", &f.Common, &f.Grant))
	case *schema.GrantDenied:
		b.scopes.add(grantRow(h, "denied", &f.Common, &f.Grant))
	case *schema.ResourceResolved:
		b.scopes.add(resourceRow(h, "resolved", &f.Common, &f.Resource))
	case *schema.ResourceAccessed:
		b.scopes.add(accessRow(h, f))
	case *schema.ScratchpadLoaded:
		b.scopes.add(scratchpadRow(h, "loaded", &f.Common, &f.Scratchpad))
	case *schema.ScratchpadWritten:
		b.scopes.add(scratchpadRow(h, "written", &f.Common, &f.Scratchpad))
	case *schema.EnvelopeCreated:
		b.scopes.add(envelopeRow(h, f))
	case *schema.SurfaceCreated:
		b.decisions.add(surfaceRow(h, "created", &f.Common, &f.Surface))
	case *schema.SurfaceUpdated:
		b.decisions.add(surfaceRow(h, "updated", &f.Common, &f.Surface))
	case *schema.SelectionStarted:
		b.decisions.add(selectionRow(h, "started", &f.Common, &f.Selection))
	case *schema.SelectionCompleted:
		b.decisions.add(decidedRow(h, f))
	case *schema.ItemAdded:
		b.items.add(newItemRow(h, "added", &f.Common, &f.Item))
	case *schema.ItemUpdated:
		b.items.add(newItemRow(h, "updated", &f.Common, &f.Item))
	case *schema.ItemRemoved:
		b.items.add(itemRow{Head: h, Change: "removed", ItemID: f.ItemID, Reason: f.Reason, Metadata: jsonText(f.Metadata)})
	case *schema.ErasureApplied:
		if s, err := ParseSubject(f.ErasedSubject); err == nil && s.Kind == subjectItem {
			b.items.add(itemRow{
				Head: h, Change: expired, ItemID: s.ID, RedactionState: expired, RedactionReason: f.Reason,
				PolicyRefs: schema.RefIDs(f.PolicyRefs), Reason: f.Reason, Metadata: jsonText(f.Metadata),
			})
		}
	case *schema.LogAppended:
		b.logItems.add(newLogItemRow(h, f))
	case *schema.BudgetApplied:
		b.windows.add(budgetRow(h, f))
	case *schema.PressureApplied:
		b.windows.add(pressureRow(h, f))
	case *schema.UsageRecorded:
		b.windows.add(usageRow(h, f))
		b.calls.add(newCallRow(h, f))
	case *schema.AssemblyCreated:
		b.placements.add(assemblyRow(h, f))
	case *schema.InjectionApplied:
		b.placements.add(injectionRow(h, "injection", &f.Common, &f.Injection))
	case *schema.InjectionRemoved:
		b.placements.add(removalRow(h, f))
	case *schema.ElisionApplied:
		b.replacements.add(elisionRow(h, "applied", &f.Common, &f.Elision))
	case *schema.ElisionReloaded:
		b.replacements.add(elisionRow(h, "reloaded", &f.Common, &f.Elision))
	case *schema.CompactionStarted:
		b.replacements.add(compactionRow(h, "started", &f.Common, &f.Compaction))
	case *schema.CompactionCompleted:
		b.replacements.add(compactionRow(h, "completed", &f.Common, &f.Compaction))
	case *schema.CompactionFailed:
		b.replacements.add(compactionRow(h, "failed", &f.Common, &f.Compaction))
	case *schema.CompactionDiscarded:
		b.replacements.add(compactionRow(h, "discarded", &f.Common, &f.Compaction))
	case *schema.SummaryCreated:
		b.replacements.add(summaryRow(h, "created", &f.Common, &f.Summary))
	case *schema.SummaryRefreshed:
		b.replacements.add(summaryRow(h, "refreshed", &f.Common, &f.Summary))
	case *schema.RedactionApplied:
		b.redactions.add(newRedactionRow(h, f))
	case *schema.MissingDetected:
		b.missing.add(newMissingRow(h, "detected", &f.Common, &f.Missing))
	case *schema.MissingRequested:
		b.missing.add(newMissingRow(h, "requested", &f.Common, &f.Missing))
	case *schema.MissingResolved:
		b.missing.add(newMissingRow(h, "resolved", &f.Common, &f.Missing))
	}
}

// AddDuplicate records that an event of the tenant was in the ledger already, as first.
func (b *Batch) AddDuplicate(e *schema.Event, tenant string, at, first Position) {
	b.duplicates.add(duplicateRow{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		Tenant: tenant, SessionID: e.SessionID, Source: e.Source, EventID: e.ID,
		FirstIncarnation: first.Incarnation, FirstSeq: first.StreamSeq,
	})
}
