package read

import (
	"context"
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"github.com/ctxledger/ctxledger/schema"
)

// Contents returns the facts about items and assemblies of a session, by their ids, that have content
// or name a text by [schema.TextRef]. They are in the order of the stream, as the ledger knew them at a time; the empty
// one is now.
func (l Reader) Contents(ctx context.Context, tenant, session, asOf string, ids []string) ([]schema.Fact, error) {
	params := chsql.Params{
		"tenant": chsql.Text(tenant), "session": chsql.Text(session), "as_of": chsql.Text(asOf), "ids": chsql.Texts(ids),
		"text_ref": chsql.Text(string(schema.TextRef(""))),
	}
	var list []schema.Fact
	for answer := range l.sql.Rows(ctx, "contents", params) {
		var r row.Event
		c := &r.Correlation
		err := answer.Scan(&r.Incarnation, &r.StreamSeq, &r.RecordedAt, &r.EventTime, &r.EventID, &r.Source, &r.EventType, &c.Tenant, &c.SessionID, &c.TurnID, &r.Data)
		if err != nil {
			return nil, fmt.Errorf("read contents: %w", err)
		}
		fact, err := r.Event().Decode()
		if err != nil {
			return nil, fmt.Errorf("read contents at sequence %d: %w", r.StreamSeq, err)
		}
		list = append(list, fact)
	}
	return list, nil
}
