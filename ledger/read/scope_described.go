package read

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// Described is a record that facts name, by kind and id. The kind is the object of the event
// type that makes the record.
type Described struct{ Kind, ID string }

// mostDescribed is how many records one question may name.
const mostDescribed = 5_000

// ScopeDescribed returns the sequences of facts of the session, outside of the scope, that
// describe records. For each record it is the newest fact up to a time, or else the first one
// after that time. A record that no fact describes is left out.
func (l Reader) ScopeDescribed(ctx context.Context, s Scope, things []Described, until time.Time) (map[uuid.UUID][]uint64, error) {
	found := make(map[uuid.UUID][]uint64)
	for len(things) > 0 {
		n := min(len(things), mostDescribed)
		ids, named := make([]string, n), make([]string, n)
		for i, t := range things[:n] {
			ids[i], named[i] = t.ID, t.Kind+" "+t.ID
		}
		things = things[n:]
		params := s.parameters()
		params["ids"], params["things"] = chsql.Texts(ids), chsql.Texts(named)
		params["until"] = chsql.Time(until)
		for row := range l.sql.Rows(ctx, "scope_described", params) {
			var incarnation uuid.UUID
			var sequence uint64
			if err := row.Scan(&incarnation, &sequence); err != nil {
				return nil, fmt.Errorf("look for the records that the scope names: %w", err)
			}
			found[incarnation] = append(found[incarnation], sequence)
		}
	}
	return found, nil
}
