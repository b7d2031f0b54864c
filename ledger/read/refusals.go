package read

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/google/uuid"
)

// RefusalFilter selects quarantined messages. The zero value is all.
type RefusalFilter struct {
	Incarnation uuid.UUID // of one stream only
	First, Last uint64    // sequences, both included; a Last of 0 is no end
	Code        string
	Tenant      string
	Waiting     bool // only messages without a replay
}

// Refusals calls visit for the refused messages that fit, in the order in which
// the stream stored them, and stops at its first error.
func (l Reader) Refusals(ctx context.Context, f RefusalFilter, visit func(ledger.Refusal) error) error {
	if f.Last == 0 {
		f.Last = math.MaxUint64
	}
	answer := l.sql.Rows(ctx, "refusals", chsql.Params{
		"incarnation": chsql.UUID(f.Incarnation), "first": chsql.Number(f.First), "last": chsql.Number(f.Last),
		"code": chsql.Text(f.Code), "tenant": chsql.Text(f.Tenant), "replayed": chsql.Bool(!f.Waiting),
	})
	for row := range answer {
		var r ledger.Refusal
		var header, data string
		if err := row.Scan(&r.Incarnation, &r.StreamSeq, &r.RecordedAt, &r.Tenant, &r.Source, &r.EventID, &r.Subject, &header, &data,
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
	return nil
}

// Replay is a message that replays a refused one.
type Replay struct {
	Incarnation uuid.UUID `json:"incarnation"`
	StreamSeq   uint64    `json:"sequence"`
	RecordedAt  time.Time `json:"recorded_at"`
	Outcome     string    `json:"outcome"` // recorded, repeated or refused
}

// Replays returns the projected replays of a refused message, oldest first. A replay that
// another tenant claims does not count.
func (l Reader) Replays(ctx context.Context, of ledger.Refusal) ([]Replay, error) {
	params := chsql.Params{
		"incarnation": chsql.UUID(of.Incarnation), "sequence": chsql.Number(of.StreamSeq), "tenant": chsql.Text(of.Tenant),
	}
	var list []Replay
	for row := range l.sql.Rows(ctx, "replays", params) {
		var r Replay
		if err := row.Scan(&r.Incarnation, &r.StreamSeq, &r.RecordedAt, &r.Outcome); err != nil {
			return nil, fmt.Errorf("read replays: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}
