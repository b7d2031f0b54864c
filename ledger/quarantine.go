package ledger

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"github.com/ctxledger/ctxledger/schema"
)

// Refusal is a message in quarantine. The JSON form has no headers and no bytes.
type Refusal struct {
	Incarnation uuid.UUID           `json:"incarnation"`
	StreamSeq   uint64              `json:"sequence"`
	RecordedAt  time.Time           `json:"recorded_at"` // when the stream stored it
	Tenant      string              `json:"tenant"`
	Source      string              `json:"source"`   // empty when the envelope could not be read
	EventID     string              `json:"event_id"` // likewise
	Subject     string              `json:"subject"`  // of the message
	Header      map[string][]string `json:"-"`
	Data        []byte              `json:"-"`    // the exact bytes, withheld values masked
	Code        string              `json:"code"` // of the first violation
	Pointer     string              `json:"pointer"`
	Reason      string              `json:"reason"` // all violations, for people
	Codes       []string            `json:"codes"`
}

// Position returns the place of the message in its stream.
func (r Refusal) Position() Position { return Position{r.Incarnation, r.StreamSeq, r.RecordedAt} }

// Refused is a message that the projector would not apply.
type Refused struct {
	Tenant     string
	Subject    string
	Header     map[string][]string
	Data       []byte
	Event      *schema.Event // nil when not even the envelope could be read
	Violations schema.Violations
}

// RefusalOf returns the row of quarantine for a message at a position.
func RefusalOf(m Refused, at Position) Refusal {
	r := Refusal{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		Tenant: m.Tenant, Subject: m.Subject, Header: m.Header, Data: m.Data, Reason: m.Violations.Error(),
	}
	for i, v := range m.Violations {
		if i == 0 {
			r.Code, r.Pointer = string(v.Code), v.Pointer
		}
		r.Codes = append(r.Codes, string(v.Code))
	}
	if m.Event != nil {
		r.Source, r.EventID = m.Event.Source, m.Event.ID
	}
	return r
}

// AddRefused puts a message into quarantine with its exact bytes.
func (b *Batch) AddRefused(m Refused, at Position) { b.AddRefusal(RefusalOf(m, at)) }

// AddRefusal is AddRefused for a message that was quarantined before and has left the stream.
func (b *Batch) AddRefusal(r Refusal) {
	b.quarantine.Add(row.Quarantined{
		Incarnation: r.Incarnation, StreamSeq: r.StreamSeq, RecordedAt: r.RecordedAt, Tenant: r.Tenant, Source: r.Source, EventID: r.EventID,
		StreamSubject: r.Subject, Header: headerText(r.Header), Data: string(r.Data), Code: r.Code, Pointer: r.Pointer, Reason: r.Reason, Codes: r.Codes,
	})
}

// headerText encodes the headers of a message. Bytes that are not UTF-8, which
// JSON cannot hold, become U+FFFD; the copy in the quarantine stream has them.
func headerText(header map[string][]string) string {
	if len(header) == 0 {
		return ""
	}
	text, err := json.Marshal(header, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return ""
	}
	return string(text)
}
