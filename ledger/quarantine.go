package ledger

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// Refusal is a message in quarantine. Its JSON form leaves out the headers and
// the bytes, which travel beside it.
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

// Position returns where the message stands in its stream.
func (r Refusal) Position() Position { return Position{r.Incarnation, r.StreamSeq, r.RecordedAt} }

// RefusalFilter says which refusals to read. The zero value is all.
type RefusalFilter struct {
	Incarnation uuid.UUID // of one stream only
	First, Last uint64    // sequences, both included; a Last of 0 is no end
	Code        string
	Tenant      string
	Waiting     bool // only those that were not replayed
}

// Refusals calls visit for the refused messages that fit, in the order in which
// the stream stored them, and stops at its first error.
func (l *Ledger) Refusals(ctx context.Context, f RefusalFilter, visit func(Refusal) error) error {
	if f.Last == 0 {
		f.Last = math.MaxUint64
	}
	rows, err := l.conn.Query(l.with(ctx, clickhouse.Parameters{
		"incarnation": f.Incarnation.String(), "first": unsigned(f.First), "last": unsigned(f.Last),
		"code": f.Code, "tenant": f.Tenant, "replayed": strconv.FormatBool(!f.Waiting),
	}), statement("refusals"))
	if err != nil {
		return fmt.Errorf("read quarantine: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Refusal
		var header, data string
		if err := rows.Scan(&r.Incarnation, &r.StreamSeq, &r.RecordedAt, &r.Tenant, &r.Source, &r.EventID, &r.Subject, &header, &data,
			&r.Code, &r.Pointer, &r.Reason, &r.Codes); err != nil {
			return fmt.Errorf("read quarantine: %w", err)
		}
		r.Data = []byte(data)
		if header != "" {
			if err := json.Unmarshal([]byte(header), &r.Header); err != nil {
				return fmt.Errorf("read quarantine: headers of sequence %d: %w", r.StreamSeq, err)
			}
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read quarantine: %w", err)
	}
	return nil
}

// Replay is a message that replays a refused one.
type Replay struct {
	Incarnation uuid.UUID `json:"incarnation"`
	StreamSeq   uint64    `json:"sequence"`
	RecordedAt  time.Time `json:"recorded_at"`
	Outcome     string    `json:"outcome"` // recorded, repeated or refused
}

// Replays returns the projected replays of a refused message, oldest first. What
// another tenant says to be one is none.
func (l *Ledger) Replays(ctx context.Context, of Refusal) ([]Replay, error) {
	params := clickhouse.Parameters{
		"incarnation": of.Incarnation.String(), "sequence": unsigned(of.StreamSeq), "tenant": parameterEscapes.Replace(of.Tenant),
	}
	rows, err := l.conn.Query(l.with(ctx, params), statement("replays"))
	if err != nil {
		return nil, fmt.Errorf("read replays: %w", err)
	}
	defer rows.Close()
	var list []Replay
	for rows.Next() {
		var r Replay
		if err := rows.Scan(&r.Incarnation, &r.StreamSeq, &r.RecordedAt, &r.Outcome); err != nil {
			return nil, fmt.Errorf("read replays: %w", err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// Refused is a message that the projector would not apply.
type Refused struct {
	Tenant     string
	Subject    string
	Header     map[string][]string
	Data       []byte
	Event      *schema.Event // nil when not even the envelope could be read
	Violations schema.Violations
}

// RefusalOf says what quarantine keeps of a message that stands at.
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

// AddRefusal is AddRefused for a message that was refused before and that the
// stream no longer has.
func (b *Batch) AddRefusal(r Refusal) {
	b.quarantine.add(quarantineRow{
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
