package ask

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// idsOf returns the ids among the parameters of a query, with the given values.
func idsOf(q queries.Query, given map[string]string) cli.IDs {
	ids := make(cli.IDs)
	for _, p := range q.Parameters {
		if column := read.IDColumn(p.Name); p.Unit == "id" && slices.Contains(read.IDColumns, column) {
			ids[column] = new(given[p.Name])
		}
	}
	return ids
}

// setIDs copies the ids that are not empty.
func setIDs(given map[string]string, ids cli.IDs) {
	for column, value := range ids {
		if *value != "" {
			given[string(column)] = *value
		}
	}
}

// completeParameters completes the ids among the given parameters. With last, it fills them as
// [fillNewest] does.
func completeParameters(ctx context.Context, a *cli.App, l *ledger.Ledger, q queries.Query, given map[string]string, last bool) error {
	ids := idsOf(q, given)
	if _, err := ids.Complete(ctx, a, l, given["tenant"]); err != nil {
		return err
	}
	setIDs(given, ids)
	if !last {
		return nil
	}
	return fillNewest(q, given, func(tenant, session string) (read.NamedID, error) {
		return cli.Newest(ctx, a, l, tenant, session)
	})
}

// fillNewest fills the session with the newest, and the turn where the query requires one.
func fillNewest(q queries.Query, given map[string]string, newest func(tenant, session string) (read.NamedID, error)) error {
	if _, ok := idsOf(q, given)[read.SessionID]; !ok {
		return cli.UsageError("--last: query %s asks about no session; leave --last out", q.Name)
	}
	turn, err := newest(given["tenant"], given[string(read.SessionID)])
	if err != nil {
		return err
	}
	given[string(read.SessionID)] = turn.Session
	if i := slices.IndexFunc(q.Parameters, func(p queries.Parameter) bool { return p.Name == string(read.TurnID) }); i >= 0 && q.Parameters[i].Required {
		given[string(read.TurnID)] = turn.ID
	}
	return nil
}

// formatClause is a FORMAT clause at the end of a statement, with a name that ClickHouse has.
var formatClause = regexp.MustCompile(`(?is)\bFORMAT\s+((?:JSON|CSV|TSV|TabSeparated|Pretty|Vertical|Values|Native|RowBinary|Parquet|Arrow|ORC|Avro|XML|Markdown|LineAsString|Null|Raw|Template|MsgPack|Protobuf|CapnProto|SQLInsert|BSON|Npy|CustomSeparated|One|Hash)\w*)\s*(?:SETTINGS\b.*)?;?\s*$`)

// notSQL are comments and quoted texts, which may hold any word.
var notSQL = regexp.MustCompile("(?s)--[^\n]*|/\\*.*?\\*/|'(?:[^'\\\\]|\\\\.|'')*'|`[^`]*`|\"[^\"]*\"")

// serverFormat returns the format that a statement asks the server for. The
// server ignores it: the native protocol has a single format.
func serverFormat(sql string) (name string, ok bool) {
	bare := notSQL.ReplaceAllStringFunc(sql, func(part string) string {
		if strings.HasPrefix(part, "-") || strings.HasPrefix(part, "/") {
			return " "
		}
		return "''"
	})
	m := formatClause.FindStringSubmatch(bare)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// outputFor returns the value of -o that is nearest to a format of the server.
func outputFor(format string) string {
	switch lower := strings.ToLower(format); {
	case strings.HasPrefix(lower, "json"):
		return "json"
	case strings.HasPrefix(lower, "csv"):
		return "csv"
	case strings.HasPrefix(lower, "parquet"):
		return "parquet"
	case strings.HasPrefix(lower, "vertical"):
		return "vertical"
	}
	return "table, json, csv, vertical or parquet"
}
