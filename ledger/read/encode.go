package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-json-experiment/json"
)

// Encode lets the server encode the rows of another answer, as [Reader.QueryFormat] does for a statement. All
// rows are in memory, and go to the server as a text of the statement, because a user that only reads may not send
// a table. Encode closes the rows, and the caller closes the stream. Errors: [ErrStatement] for a type that this
// text has no exact form for; a value that JSON has no form for, such as NaN; those of [Reader.QueryFormat].
func (l Reader) Encode(ctx context.Context, format string, rows Rows, limits Limits) (io.ReadCloser, error) {
	values, types, err := casts(rows.Columns())
	text := ""
	if err == nil {
		text, err = textOf(rows)
	}
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	options, err := l.readOptions(ctx, "", nil, limits, clickhouse.Settings{"max_query_size": 3*len(text) + 1<<18})
	if err != nil {
		return nil, queryError(ctx, err, limits)
	}
	sql := strings.NewReplacer("{columns}", strings.Join(values, ", "), "{rows}", escaped.Replace(text), "{types}", escaped.Replace(strings.Join(types, ", "))).
		Replace(l.sql.Text("encode"))
	stream, err := l.sql.Conn.QueryFormat(clickhouse.Context(ctx, options...), format, sql)
	if err != nil {
		return nil, queryError(ctx, err, limits)
	}
	return &formatStream{stream, explainer(ctx, limits)}, nil
}

// casts returns an expression for each column of the tuple r, and the types of the tuple.
func casts(columns []ResultColumn) (values, types []string, _ error) {
	for i, c := range columns {
		value, t := fmt.Sprint("r.", i+1), c.Type
		switch {
		case timeTypes.MatchString(t): // as nanoseconds
			value = fmt.Sprintf("CAST(fromUnixTimestamp64Nano(%s, 'UTC') AS %s)", value, t)
			t = "Int64"
			if strings.HasPrefix(c.Type, "Nullable(") {
				t = "Nullable(Int64)"
			}
		case !exactTypes.MatchString(t):
			return nil, nil, fmt.Errorf("%w: the column %s has the type %s, which cannot be encoded from several answers: convert it, as by toString", ErrStatement, c.Name, t)
		}
		values, types = append(values, value+" AS `"+escaped.Replace(c.Name)+"`"), append(types, t)
	}
	return values, types, nil
}

var (
	timeTypes  = regexp.MustCompile(`^(Nullable\()?Date(32|Time|Time64)?(\([^()]*\))?\)?$`)
	exactTypes = regexp.MustCompile(`^((Nullable|LowCardinality|Array)\()*(U?Int(8|16|32|64)|Float(32|64)|Bool|String|UUID|Enum(8|16)\(.*\))\)*$`)
)

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
