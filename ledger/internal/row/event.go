package row

import (
	"time"
	"unsafe"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// Event is a row of the table events: all attributes and the data.
type Event struct {
	Head
	Subject            string            `ch:"subject"`
	DataContentType    string            `ch:"data_content_type"`
	DataSchema         string            `ch:"data_schema"`
	PartitionKey       string            `ch:"partition_key"`
	CorrelationID      string            `ch:"correlation_id"`
	CausationID        string            `ch:"causation_id"`
	RecordedTime       *time.Time        `ch:"recorded_time"`
	TraceParent        string            `ch:"traceparent"`
	TraceState         string            `ch:"tracestate"`
	DataClassification string            `ch:"data_classification"`
	Extensions         map[string]string `ch:"extensions"`
	Data               string            `ch:"data"`
	Digest             string            `ch:"digest"` // 32 bytes
	Identity           uint64            `ch:"identity"`
	Salt               string            `ch:"salt"`           // 16 bytes
	TypeAttribute      string            `ch:"type_attribute"` // as it came
	TenantAbsent       bool              `ch:"tenant_absent"`  // the event had no tenant; the column tenant has the default one
}

// TextOf returns bytes as text, which it aliases.
func TextOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Event turns the row back into the event that it was made from.
func (r *Event) Event() *schema.Event {
	e := &schema.Event{
		ID: r.EventID, Source: r.Source, Type: r.EventType, Subject: r.Subject, Time: r.EventTime.UTC(),
		DataContentType: r.DataContentType, DataSchema: r.DataSchema, Correlation: r.Correlation, Sequence: r.Sequence,
		PartitionKey: r.PartitionKey, CorrelationID: r.CorrelationID, CausationID: r.CausationID,
		TraceParent: r.TraceParent, TraceState: r.TraceState, DataClassification: r.DataClassification,
		Extensions: r.Extensions, Data: []byte(r.Data),
	}
	if r.TenantAbsent {
		e.Tenant = ""
	}
	if t := schema.Type(r.EventType); r.TypeAttribute != "" {
		e.Type = r.TypeAttribute
	} else if t.Known() {
		e.Type = t.CloudEventsType()
	}
	if r.RecordedTime != nil {
		e.RecordedTime = r.RecordedTime.UTC()
	}
	return e
}

// Quarantined is a row of the table quarantine: a message that was refused,
// with its exact bytes.
type Quarantined struct {
	Incarnation   uuid.UUID `ch:"incarnation"`
	StreamSeq     uint64    `ch:"stream_seq"`
	RecordedAt    time.Time `ch:"recorded_at"`
	Tenant        string    `ch:"tenant"`
	Source        string    `ch:"source"`
	EventID       string    `ch:"event_id"`
	StreamSubject string    `ch:"stream_subject"`
	Header        string    `ch:"header"` // JSON object of arrays
	Data          string    `ch:"data"`
	Code          string    `ch:"code"` // of the first violation
	Pointer       string    `ch:"pointer"`
	Reason        string    `ch:"reason"`
	Codes         []string  `ch:"codes"`
}

// Duplicate is a row of the table duplicates: an event whose identity was
// in the ledger already.
type Duplicate struct {
	Incarnation      uuid.UUID `ch:"incarnation"`
	StreamSeq        uint64    `ch:"stream_seq"`
	RecordedAt       time.Time `ch:"recorded_at"`
	Tenant           string    `ch:"tenant"`
	SessionID        string    `ch:"session_id"`
	Source           string    `ch:"source"`
	EventID          string    `ch:"event_id"`
	FirstIncarnation uuid.UUID `ch:"first_incarnation"`
	FirstSeq         uint64    `ch:"first_seq"`
}

// Commit is a row of the table commits.
type Commit struct {
	Incarnation       uuid.UUID         `ch:"incarnation"`
	First             uint64            `ch:"first_seq"`
	Last              uint64            `ch:"last_seq"`
	Messages          uint64            `ch:"messages"`
	Digest            string            `ch:"digest"` // 32 bytes
	Rows              map[string]uint64 `ch:"rows"`
	Epoch             uint64            `ch:"epoch"`
	ProjectionVersion uint32            `ch:"projection_version"`
	RecordedAt        time.Time         `ch:"recorded_at"`
	TreeSize          uint64            `ch:"tree_size"`
	TreeRoot          string            `ch:"tree_root"` // 32 bytes
	TreeFrontier      string            `ch:"tree_frontier"`
	WriterRules       uint32            `ch:"writer_rules"` // the newest that the writer knew
}
