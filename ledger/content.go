package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/schema"
)

// InlineContents returns the facts about items and assemblies of a session, by their
// ids, that a producer put content into, in the order of the stream, as the ledger
// knew them at a time; the empty one is now.
func (l *Ledger) InlineContents(ctx context.Context, tenant, session, asOf string, ids []string) ([]schema.Fact, error) {
	params := clickhouse.Parameters{
		"tenant": parameterEscapes.Replace(tenant), "session": parameterEscapes.Replace(session), "as_of": asOf, "ids": TextsParameter(ids),
	}
	rows, err := l.conn.Query(l.with(ctx, params), statement("inline_contents"))
	if err != nil {
		return nil, fmt.Errorf("read contents: %w", err)
	}
	defer rows.Close()
	var list []schema.Fact
	for rows.Next() {
		var r eventRow
		c := &r.Correlation
		err := rows.Scan(&r.Incarnation, &r.StreamSeq, &r.RecordedAt, &r.EventTime, &r.EventID, &r.Source, &r.EventType, &c.Tenant, &c.SessionID, &c.TurnID, &r.Data)
		if err != nil {
			return nil, fmt.Errorf("read contents: %w", err)
		}
		fact, err := r.event().Decode()
		if err != nil {
			return nil, fmt.Errorf("read contents at sequence %d: %w", r.StreamSeq, err)
		}
		list = append(list, fact)
	}
	return list, rows.Err()
}

// literalEscapes are those of a text in a list that is a parameter.
var literalEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// TextsParameter writes texts as the server takes a list of them, as a parameter.
func TextsParameter(list []string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, text := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("'" + literalEscapes.Replace(text) + "'")
	}
	b.WriteByte(']')
	return b.String()
}
