package ledger

import (
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// ProjectionVersion names how events become rows. It is part of every
// deduplication token, so that rows of another version are never taken for a
// repeat.
const ProjectionVersion = 1

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
}

// Same reports whether o names the same messages with the same bytes.
func (r Range) Same(o Range) bool {
	return r.Incarnation == o.Incarnation && r.First == o.First && r.Last == o.Last && r.Messages == o.Messages && r.Digest == o.Digest
}

// Batch is what one range becomes: the rows of every table. It is a pure
// value: the same messages give the same batch. It is not safe for concurrent
// use.
type Batch struct {
	Range
	events       []eventRow
	scopes       []scopeRow
	items        []itemRow
	decisions    []decisionRow
	windows      []windowRow
	placements   []placementRow
	replacements []replacementRow
	redactions   []redactionRow
	missing      []missingRow
	calls        []callRow
	logItems     []logItemRow
	quarantine   []quarantineRow
	duplicates   []duplicateRow
}

// A tableRows pairs a table with its rows, a slice of row structs.
type tableRows struct {
	table string
	rows  reflect.Value
}

// tables lists the tables in the order in which they are written. Events come
// first: a range whose events are there but whose other rows are not is found
// by its missing commit.
func (b *Batch) tables() []tableRows {
	all := []struct {
		table string
		rows  any
	}{
		{"events", b.events}, {"scopes", b.scopes}, {"items", b.items}, {"decisions", b.decisions},
		{"windows", b.windows}, {"placements", b.placements}, {"replacements", b.replacements},
		{"redactions", b.redactions}, {"missing", b.missing}, {"calls", b.calls}, {"log_items", b.logItems},
		{"quarantine", b.quarantine}, {"duplicates", b.duplicates},
	}
	list := make([]tableRows, len(all))
	for i, t := range all {
		list[i] = tableRows{t.table, reflect.ValueOf(t.rows)}
	}
	return list
}

// Rows returns the number of rows by table, without the empty ones.
func (b *Batch) Rows() map[string]uint64 {
	counts := make(map[string]uint64)
	for _, t := range b.tables() {
		if n := t.rows.Len(); n > 0 {
			counts[t.table] = uint64(n)
		}
	}
	return counts
}

// Add derives the rows of one event. A nil fact is an event of a type that
// this version does not know: it is kept in events and nowhere else.
func (b *Batch) Add(e *schema.Event, fact schema.Fact, at Position) {
	b.events = append(b.events, newEventRow(e, at))
	h := headOf(e, at)
	switch f := fact.(type) {
	case *schema.ScopeOpened:
		b.scopes = append(b.scopes, runRow(h, f))
	case *schema.GrantIssued:
		b.scopes = append(b.scopes, grantRow(h, "issued", &f.Common, &f.Grant))
	case *schema.GrantNarrowed:
		b.scopes = append(b.scopes, grantRow(h, "narrowed", &f.Common, &f.Grant))
	case *schema.GrantDenied:
		b.scopes = append(b.scopes, grantRow(h, "denied", &f.Common, &f.Grant))
	case *schema.ResourceResolved:
		b.scopes = append(b.scopes, resourceRow(h, "resolved", &f.Common, &f.Resource))
	case *schema.ResourceAccessed:
		b.scopes = append(b.scopes, accessRow(h, f))
	case *schema.ScratchpadLoaded:
		b.scopes = append(b.scopes, scratchpadRow(h, "loaded", &f.Common, &f.Scratchpad))
	case *schema.ScratchpadWritten:
		b.scopes = append(b.scopes, scratchpadRow(h, "written", &f.Common, &f.Scratchpad))
	case *schema.EnvelopeCreated:
		b.scopes = append(b.scopes, envelopeRow(h, f))
	case *schema.SurfaceCreated:
		b.decisions = append(b.decisions, surfaceRow(h, "created", &f.Common, &f.Surface))
	case *schema.SurfaceUpdated:
		b.decisions = append(b.decisions, surfaceRow(h, "updated", &f.Common, &f.Surface))
	case *schema.SelectionStarted:
		b.decisions = append(b.decisions, selectionRow(h, "started", &f.Common, &f.Selection))
	case *schema.SelectionCompleted:
		b.decisions = append(b.decisions, decidedRow(h, f))
	case *schema.ItemAdded:
		b.items = append(b.items, newItemRow(h, "added", &f.Common, &f.Item))
	case *schema.ItemUpdated:
		b.items = append(b.items, newItemRow(h, "updated", &f.Common, &f.Item))
	case *schema.ItemRemoved:
		b.items = append(b.items, itemRow{Head: h, Change: "removed", ItemID: f.ItemID, Reason: f.Reason, Metadata: jsonText(f.Metadata)})
	case *schema.LogAppended:
		b.logItems = append(b.logItems, newLogItemRow(h, f))
	case *schema.BudgetApplied:
		b.windows = append(b.windows, budgetRow(h, f))
	case *schema.PressureApplied:
		b.windows = append(b.windows, pressureRow(h, f))
	case *schema.UsageRecorded:
		b.windows = append(b.windows, usageRow(h, f))
		b.calls = append(b.calls, newCallRow(h, f))
	case *schema.AssemblyCreated:
		b.placements = append(b.placements, assemblyRow(h, f))
	case *schema.InjectionApplied:
		b.placements = append(b.placements, injectionRow(h, "injection", &f.Common, &f.Injection))
	case *schema.InjectionRemoved:
		b.placements = append(b.placements, removalRow(h, f))
	case *schema.ElisionApplied:
		b.replacements = append(b.replacements, elisionRow(h, "applied", &f.Common, &f.Elision))
	case *schema.ElisionReloaded:
		b.replacements = append(b.replacements, elisionRow(h, "reloaded", &f.Common, &f.Elision))
	case *schema.CompactionStarted:
		b.replacements = append(b.replacements, compactionRow(h, "started", &f.Common, &f.Compaction))
	case *schema.CompactionCompleted:
		b.replacements = append(b.replacements, compactionRow(h, "completed", &f.Common, &f.Compaction))
	case *schema.CompactionFailed:
		b.replacements = append(b.replacements, compactionRow(h, "failed", &f.Common, &f.Compaction))
	case *schema.CompactionDiscarded:
		b.replacements = append(b.replacements, compactionRow(h, "discarded", &f.Common, &f.Compaction))
	case *schema.SummaryCreated:
		b.replacements = append(b.replacements, summaryRow(h, "created", &f.Common, &f.Summary))
	case *schema.SummaryRefreshed:
		b.replacements = append(b.replacements, summaryRow(h, "refreshed", &f.Common, &f.Summary))
	case *schema.RedactionApplied:
		b.redactions = append(b.redactions, newRedactionRow(h, f))
	case *schema.MissingDetected:
		b.missing = append(b.missing, newMissingRow(h, "detected", &f.Common, &f.Missing))
	case *schema.MissingRequested:
		b.missing = append(b.missing, newMissingRow(h, "requested", &f.Common, &f.Missing))
	case *schema.MissingResolved:
		b.missing = append(b.missing, newMissingRow(h, "resolved", &f.Common, &f.Missing))
	}
}

// Refused is a message that the projector would not apply.
type Refused struct {
	Subject    string
	Header     map[string][]string
	Data       []byte
	Event      *schema.Event // nil when not even the envelope could be read
	Violations schema.Violations
}

// AddRefused puts a message into quarantine with its exact bytes.
func (b *Batch) AddRefused(r Refused, at Position) {
	row := quarantineRow{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		StreamSubject: r.Subject, Header: jsonText(r.Header), Data: string(r.Data), Reason: r.Violations.Error(),
	}
	for i, v := range r.Violations {
		if i == 0 {
			row.Code, row.Pointer = string(v.Code), v.Pointer
		}
		row.Codes = append(row.Codes, string(v.Code))
	}
	if s, err := schema.ParseSubject(r.Subject); err == nil {
		row.Tenant = s.Tenant
	}
	if r.Event != nil {
		row.Source, row.EventID = r.Event.Source, r.Event.ID
	}
	b.quarantine = append(b.quarantine, row)
}

// AddDuplicate records that e was in the ledger already, as first.
func (b *Batch) AddDuplicate(e *schema.Event, at, first Position) {
	b.duplicates = append(b.duplicates, duplicateRow{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		Tenant: e.Tenant, SessionID: e.SessionID, Source: e.Source, EventID: e.ID,
		FirstIncarnation: first.Incarnation, FirstSeq: first.StreamSeq,
	})
}

// jsonText encodes free-form members; nothing encodes as the empty string.
func jsonText(v any) string {
	if r := reflect.ValueOf(v); !r.IsValid() || (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0 {
		return ""
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}
