package ledger

import (
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/internal/column"
	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// Range is the messages of one stream with sequences from First to Last. Messages is the number
// of messages that exist. The digest is over their exact bytes. A range can be read again. An
// equal digest means equal messages.
type Range struct {
	Incarnation uuid.UUID `json:"incarnation"`
	First       uint64    `json:"first"`
	Last        uint64    `json:"last"`
	Messages    uint64    `json:"messages"`
	Digest      [32]byte  `json:"digest"`
	// RecordedAt is when the stream stored the last message.
	RecordedAt time.Time `json:"recorded_at"`
	// Epoch is the epoch of the lease holder that journalled the range. The epoch is part of
	// the tokens: each entry of the journal has other tokens.
	Epoch uint64 `json:"epoch,omitzero"`
}

// Same reports whether o names the same messages with the same bytes.
func (r Range) Same(o Range) bool {
	return r.Incarnation == o.Incarnation && r.First == o.First && r.Last == o.Last && r.Messages == o.Messages && r.Digest == o.Digest
}

// Batch holds the rows of one range for every table, in the form for sending. The same messages
// give the same batch. A Batch is not safe for concurrent use.
type Batch struct {
	Range
	facts
	quarantine column.Rows[row.Quarantined]
	duplicates column.Rows[row.Duplicate]
	replays    column.Rows[row.Replay]
	logHashes  column.Rows[logRow]
	told       map[toldSession]bool
	toldLast   toldSession // the last one that told received
	// Rules is the version of the rules that made the rows. The zero value is NewestRules.
	Rules Rules
	// Log is the transparency log with the batch's leaves. The zero Log means no log.
	Log Log
}

// facts are the rows that follow from events.
type facts struct {
	events       column.Rows[row.Event]
	scopes       column.Rows[row.Scope]
	items        column.Rows[row.Item]
	decisions    column.Rows[row.Decision]
	windows      column.Rows[row.Window]
	placements   column.Rows[row.Placement]
	replacements column.Rows[row.Replacement]
	redactions   column.Rows[row.Redaction]
	missing      column.Rows[row.Missing]
	calls        column.Rows[row.Call]
	logItems     column.Rows[row.LogItem]
}

// tables lists the blocks in the order in which they are written. Events come
// first: a range whose events are there but whose other rows are not is found
// by its missing commit.
func (b *Batch) tables() []column.Table {
	return []column.Table{
		b.events.Of("events"), b.scopes.Of("scopes"), b.items.Of("items"), b.decisions.Of("decisions"),
		b.windows.Of("windows"), b.placements.Of("placements"), b.replacements.Of("replacements"),
		b.redactions.Of("redactions"), b.missing.Of("missing"), b.calls.Of("calls"), b.logItems.Of("log_items"),
		b.quarantine.Of("quarantine"), b.duplicates.Of("duplicates"), b.replays.Of("replays"),
		b.logHashes.Of("log_hashes"),
	}
}

// Reset empties the batch for another range. The memory of the last range is kept and reused.
// Nothing may be writing it.
func (b *Batch) Reset(r Range) {
	b.Range, b.Log, b.Rules = r, Log{}, 0
	clear(b.told)
	b.toldLast = toldSession{}
	for _, t := range b.tables() {
		t.Reset()
	}
}

// Rows returns the number of rows by table, without the empty ones.
func (b *Batch) Rows() map[string]uint64 {
	counts := make(map[string]uint64)
	for _, t := range b.tables() {
		if t.Rows > 0 {
			counts[t.Table] = uint64(t.Rows)
		}
	}
	return counts
}

// Add derives the rows of one event. A nil fact is an event of a type that this version does
// not know: it is kept in events and nowhere else. The batch keeps copies, and no part of event
// or fact.
func (b *Batch) Add(e *schema.Event, fact schema.Fact, at Position) {
	b.AddDerived(e, fact, at, Derived{Tenant: e.Tenant, Digest: e.Digest(), Identity: e.Identity()})
}

// Derived holds values that are computed from an event and stored with it.
type Derived struct {
	Tenant   string // of the rows; see [Rules]
	Digest   [32]byte
	Identity uint64
	Salt     proof.Salt // of its leaf in the log; zero where it has none
}

// AddDerived is Add for callers that have already computed digest, identity and salt.
func (b *Batch) AddDerived(e *schema.Event, fact schema.Fact, at Position, d Derived) {
	b.events.Add(newEventRow(e, at, &d))
	b.tells(e, d.Tenant)
	h := headOf(e, at)
	h.Tenant = d.Tenant
	switch f := fact.(type) {
	case *schema.ScopeOpened:
		b.scopes.Add(row.Run(h, f))
	case *schema.GrantIssued:
		b.scopes.Add(row.Grant(h, "issued", &f.Common, &f.Grant))
	case *schema.GrantNarrowed:
		b.scopes.Add(row.Grant(h, "narrowed", &f.Common, &f.Grant))
	case *schema.GrantDenied:
		b.scopes.Add(row.Grant(h, "denied", &f.Common, &f.Grant))
	case *schema.ResourceResolved:
		b.scopes.Add(row.Resolved(h, f))
	case *schema.ResourceAccessed:
		b.scopes.Add(row.Access(h, f))
	case *schema.ScratchpadLoaded:
		b.scopes.Add(row.Scratchpad(h, "loaded", &f.Common, &f.Scratchpad))
	case *schema.ScratchpadWritten:
		b.scopes.Add(row.Scratchpad(h, "written", &f.Common, &f.Scratchpad))
	case *schema.EnvelopeCreated:
		b.scopes.Add(row.Envelope(h, f))
	case *schema.SurfaceCreated:
		b.decisions.Add(row.Surface(h, "created", &f.Common, &f.Surface))
	case *schema.SurfaceUpdated:
		b.decisions.Add(row.Surface(h, "updated", &f.Common, &f.Surface))
	case *schema.SelectionStarted:
		b.decisions.Add(row.Selection(h, "started", &f.Common, &f.Selection))
	case *schema.SelectionCompleted:
		b.decisions.Add(row.Decided(h, f))
	case *schema.ItemAdded:
		b.items.Add(row.NewItem(h, "added", &f.Common, &f.Item))
	case *schema.ItemUpdated:
		b.items.Add(row.NewItem(h, "updated", &f.Common, &f.Item))
	case *schema.ItemRemoved:
		b.items.Add(row.Item{Head: h, Change: "removed", ItemID: f.ItemID, Reason: f.Reason, Metadata: row.JSONText(f.Metadata)})
	case *schema.ErasureApplied:
		if item := erasedItem(f); item != "" {
			b.items.Add(row.Item{
				Head: h, Change: expired, ItemID: item, RedactionState: expired, RedactionReason: f.Reason,
				PolicyRefs: schema.RefIDs(f.PolicyRefs), Reason: f.Reason, Metadata: row.JSONText(f.Metadata),
			})
		}
	case *schema.LogAppended:
		b.logItems.Add(row.NewLogItem(h, f))
	case *schema.BudgetApplied:
		b.windows.Add(row.Budget(h, f))
	case *schema.PressureApplied:
		b.windows.Add(row.Pressure(h, f))
	case *schema.UsageRecorded:
		b.windows.Add(row.Usage(h, f))
		b.calls.Add(row.NewCall(h, f))
	case *schema.AssemblyCreated:
		b.placements.Add(row.Assembly(h, f))
	case *schema.InjectionApplied:
		b.placements.Add(row.Injection(h, "injection", &f.Common, &f.Injection))
	case *schema.InjectionRemoved:
		b.placements.Add(row.Removal(h, f))
	case *schema.ElisionApplied:
		b.replacements.Add(row.Elision(h, "applied", &f.Common, &f.Elision))
	case *schema.ElisionReloaded:
		b.replacements.Add(row.Elision(h, "reloaded", &f.Common, &f.Elision))
	case *schema.CompactionStarted:
		b.replacements.Add(row.Compaction(h, "started", &f.Common, &f.Compaction))
	case *schema.CompactionCompleted:
		b.replacements.Add(row.Compaction(h, "completed", &f.Common, &f.Compaction))
	case *schema.CompactionFailed:
		b.replacements.Add(row.Compaction(h, "failed", &f.Common, &f.Compaction))
	case *schema.CompactionDiscarded:
		b.replacements.Add(row.Compaction(h, "discarded", &f.Common, &f.Compaction))
	case *schema.SummaryCreated:
		b.replacements.Add(row.Summary(h, "created", &f.Common, &f.Summary))
	case *schema.SummaryRefreshed:
		b.replacements.Add(row.Summary(h, "refreshed", &f.Common, &f.Summary))
	case *schema.RedactionApplied:
		b.redactions.Add(row.NewRedaction(h, f))
	case *schema.MissingDetected:
		b.missing.Add(row.NewMissing(h, "detected", &f.Common, &f.Missing))
	case *schema.MissingRequested:
		b.missing.Add(row.NewMissing(h, "requested", &f.Common, &f.Missing))
	case *schema.MissingResolved:
		b.missing.Add(row.NewMissing(h, "resolved", &f.Common, &f.Missing))
	}
}

// AddDuplicate records that an event of the tenant was in the ledger already, as first.
func (b *Batch) AddDuplicate(e *schema.Event, tenant string, at, first Position) {
	b.duplicates.Add(row.Duplicate{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		Tenant: tenant, SessionID: e.SessionID, Source: e.Source, EventID: e.ID,
		FirstIncarnation: first.Incarnation, FirstSeq: first.StreamSeq,
	})
}

// NewBatch returns an empty batch with room for somewhat more rows than like holds. Batches of
// a stream are of similar size, and growing columns would be copied several times. Nil is like
// nothing. The two share nothing; like may be written meanwhile.
func NewBatch(like *Batch) *Batch {
	b := new(Batch)
	if like != nil {
		models := like.tables()
		for i, t := range b.tables() {
			t.ShapeLike(models[i].Block)
		}
	}
	return b
}

// AddReplay records that the message at replays the refused one at of, whose time is not looked
// at. Other rows hold the outcome of the replay.
func (b *Batch) AddReplay(tenant string, at, of Position) {
	b.replays.Add(row.Replay{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		Tenant: tenant, OfIncarnation: of.Incarnation, OfSeq: of.StreamSeq,
	})
}

// Position is the place of a message: the incarnation of its stream, its sequence, and the time
// at which the stream stored it.
type Position struct {
	Incarnation uuid.UUID
	StreamSeq   uint64
	RecordedAt  time.Time
}

func headOf(e *schema.Event, at Position) row.Head {
	return row.Head{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		EventTime: e.Time, EventID: e.ID, Source: e.Source, EventType: row.EventType(e),
		Sequence: e.Sequence, Correlation: e.Correlation,
	}
}

// newEventRow returns the row of an event. The row aliases the data of the event and the
// derived values.
func newEventRow(e *schema.Event, at Position, d *Derived) row.Event {
	row := row.Event{
		Head: headOf(e, at), Subject: e.Subject,
		DataContentType: e.DataContentType, DataSchema: e.DataSchema,
		PartitionKey: e.PartitionKey, CorrelationID: e.CorrelationID, CausationID: e.CausationID,
		TraceParent: e.TraceParent, TraceState: e.TraceState, DataClassification: e.DataClassification,
		Extensions: e.Extensions, Data: row.TextOf(e.Data), Digest: row.TextOf(d.Digest[:]), Identity: d.Identity,
		Salt: row.TextOf(d.Salt[:]), TypeAttribute: e.Type, TenantAbsent: e.Tenant == "" && d.Tenant != "",
	}
	row.Tenant = d.Tenant
	if !e.RecordedTime.IsZero() {
		row.RecordedTime = &e.RecordedTime
	}
	return row
}
