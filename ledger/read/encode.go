package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-json-experiment/json"
)

// Describe returns the columns of a statement's result, without its rows. The errors are those of [Reader.Query].
func (l Reader) Describe(ctx context.Context, sql string, parameters map[string]string, limits Limits) (columns []ResultColumn, err error) {
	rows, err := l.Query(ctx, "DESCRIBE TABLE\n(\n"+strings.TrimRight(strings.TrimSpace(sql), ";")+"\n)", parameters, limits)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row := rows.Values()
		columns = append(columns, ResultColumn{row[0].(string), row[1].(string)})
	}
	return columns, rows.Close()
}

// Encode lets the server encode the rows of another answer, as [Reader.QueryFormat] does for a statement. The
// columns give the names and types of the values. All rows are in memory, and go to the server as a text of the
// statement, because a user that only reads may not send a table. Encode closes the rows, and the caller closes
// the stream. Errors: a value that JSON has no form for, such as NaN, and those of [Reader.QueryFormat].
func (l Reader) Encode(ctx context.Context, format string, columns []ResultColumn, rows Rows, limits Limits) (io.ReadCloser, error) {
	text, err := textOf(rows)
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	options, err := l.readOptions(ctx, "", nil, limits, clickhouse.Settings{"max_query_size": 3*len(text) + 1<<18})
	if err != nil {
		return nil, queryError(err, limits)
	}
	var values, types []string
	for i, c := range columns {
		value, t := fmt.Sprint("r.", i+1), c.Type
		if strings.Contains(t, "Date") { // as nanoseconds
			value = fmt.Sprintf("CAST(fromUnixTimestamp64Nano(%s, 'UTC') AS %s)", value, t)
			t = "Nullable(Int64)"
			if !strings.HasPrefix(c.Type, "Nullable(") {
				t = "Int64"
			}
		}
		values, types = append(values, value+" AS `"+escaped.Replace(c.Name)+"`"), append(types, t)
	}
	sql := strings.NewReplacer("{columns}", strings.Join(values, ", "), "{rows}", escaped.Replace(text), "{types}", escaped.Replace(strings.Join(types, ", "))).
		Replace(l.sql.Text("encode"))
	stream, err := l.sql.Conn.QueryFormat(clickhouse.Context(ctx, options...), format, sql)
	if err != nil {
		return nil, queryError(err, limits)
	}
	return &formatStream{stream, limits}, nil
}

// escaped escapes a text in quotes of a statement.
var escaped = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "`", "\\`")

// textOf returns the rows as lists in JSON. Times are nanoseconds.
func textOf(rows Rows) (string, error) {
	list := [][]any{}
	for rows.Next() {
		row := rows.Values()
		for i, v := range row {
			if at, ok := v.(time.Time); ok {
				row[i] = at.UnixNano()
			}
		}
		list = append(list, row)
	}
	text, err := json.Marshal(list)
	return string(text), errors.Join(err, rows.Err())
}
