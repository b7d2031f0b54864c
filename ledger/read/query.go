package read

import (
	"context"
	"io"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// A ResultColumn is one column of a result.
type ResultColumn struct {
	Name string
	Type string // ClickHouse's, such as Nullable(Int64)
}

// A Result is the rows of a query, read as the server sends them. A Result holds a connection
// until it is closed, and is not safe for concurrent use.
type Result struct {
	rows    driver.Rows
	cancel  context.CancelFunc
	explain func(error) error
	columns []ResultColumn
	targets []any // pointers that a row is scanned into
	err     error
}

// Rows are the rows of an answer, one after the other: of a [Result], or of several.
type Rows interface {
	Columns() []ResultColumn
	Next() bool
	Values() []any
	Err() error
	Close() error
}

// Query runs one statement read-only: a named query with the values of queries.Query.Bind, or a
// statement of a user. The server refuses every change, also for a user with the right to
// write. Parameters are server parameters, {name:Type} in the statement, and never become part
// of its text.
//
// The error is one sentence with the next step. The error wraps [ErrReadOnly], [ErrLimit],
// [ErrNotMigrated], [ledger.ErrUnreachable] or [ErrStatement], or is that of ctx.
func (l Reader) Query(ctx context.Context, sql string, parameters map[string]string, limits Limits) (*Result, error) {
	sql = l.text(sql)
	options, err := l.readOptions(ctx, sql, parameters, limits, planning)
	if err != nil {
		return nil, queryError(ctx, err, limits)
	}
	ctx, cancel := context.WithCancel(ctx)
	rows, err := l.sql.Conn.Query(clickhouse.Context(ctx, options...), sql)
	if err != nil {
		cancel()
		return nil, queryError(ctx, err, limits)
	}
	r := &Result{rows: rows, cancel: cancel, explain: explainer(ctx, limits)}
	for _, t := range rows.ColumnTypes() {
		r.columns = append(r.columns, ResultColumn{t.Name(), t.DatabaseTypeName()})
		r.targets = append(r.targets, reflect.New(t.ScanType()).Interface())
	}
	return r, nil
}

// Select is Query with all rows read into list, which points to a slice of structs
// whose fields name their columns by the tag ch.
func (l Reader) Select(ctx context.Context, list any, sql string, parameters map[string]string, limits Limits) error {
	sql = l.text(sql)
	options, err := l.readOptions(ctx, sql, parameters, limits, planning)
	if err == nil {
		err = l.sql.Conn.Select(clickhouse.Context(ctx, options...), list, sql)
	}
	return queryError(ctx, err, limits)
}

// SelectSession is Select for a statement that reads the rows of one session from one table by
// its key. An answer about a turn takes a dozen of them. The server is told to make the least
// of it.
func (l Reader) SelectSession(ctx context.Context, list any, sql string, parameters map[string]string, limits Limits) error {
	sql = l.text(sql)
	options, err := l.readOptions(ctx, sql, parameters, limits, planning, simple)
	if err == nil {
		err = l.sql.Conn.Select(clickhouse.Context(ctx, options...), list, sql)
	}
	return queryError(ctx, err, limits)
}

// QueryFormat is Query with the result encoded by the server, in one of its
// formats such as Parquet, JSON or CSVWithNames. The caller closes the stream.
// Only ClickHouse's HTTP protocol can do it: the ledger must have been opened
// with an http:// address.
func (l Reader) QueryFormat(ctx context.Context, format, sql string, parameters map[string]string, limits Limits) (io.ReadCloser, error) {
	sql = l.text(sql)
	options, err := l.readOptions(ctx, sql, parameters, limits, planning)
	if err != nil {
		return nil, queryError(ctx, err, limits)
	}
	stream, err := l.sql.Conn.QueryFormat(clickhouse.Context(ctx, options...), format, strings.TrimRight(strings.TrimSpace(sql), ";"))
	if err != nil {
		return nil, queryError(ctx, err, limits)
	}
	return &formatStream{stream, explainer(ctx, limits)}, nil
}

// formatStream explains the errors that come after the first bytes.
type formatStream struct {
	io.ReadCloser
	explain func(error) error
}

func (s *formatStream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = s.explain(err)
	}
	return n, err
}

// Columns returns the columns of the result, also when it has no rows.
func (r *Result) Columns() []ResultColumn { return r.columns }

// Next goes to the next row, and returns false after the last one or after an
// error.
func (r *Result) Next() bool {
	if r.err != nil || !r.rows.Next() {
		return false
	}
	r.err = r.rows.Scan(r.targets...)
	return r.err == nil
}

// Values returns the values of the row: nil for NULL, and Go's types for
// ClickHouse's otherwise. The caller owns the slice.
func (r *Result) Values() []any {
	values := make([]any, len(r.targets))
	for i, target := range r.targets {
		v := reflect.ValueOf(target).Elem()
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Pointer {
			values[i] = v.Interface()
		}
	}
	return values
}

// Err returns the error that ended the rows early, in the form of [Reader.Query].
func (r *Result) Err() error {
	if r.err != nil {
		return r.explain(r.err)
	}
	return r.explain(r.rows.Err())
}

// Close gives the connection back. A query that still runs is ended. The result is the result
// of Err.
func (r *Result) Close() error {
	err := r.Err()
	r.cancel()
	_ = r.rows.Close()
	return err
}

// readOptions asks the server, once, how much the user may change. A user with the right to
// write is read-only for this query. A read-only user with the right to change settings gets
// the limits. Other users have the limits of the server's configuration.
func (l Reader) readOptions(ctx context.Context, sql string, parameters map[string]string, limits Limits, more ...clickhouse.Settings) ([]clickhouse.QueryOption, error) {
	readonly, err := l.ledger.ReadOnly(ctx)
	if err != nil {
		return nil, err
	}
	settings := clickhouse.Settings{}
	if readonly != "1" {
		limits.addTo(settings)
		for _, m := range more {
			maps.Copy(settings, m)
		}
	}
	if readonly == "0" {
		settings["readonly"] = 1
	}
	return []clickhouse.QueryOption{
		clickhouse.WithSettings(settings),
		clickhouse.WithParameters(escapeParameters(sql, parameters).Encoded()),
	}, nil
}

// planning are settings that a view cannot give itself, because they count for the plan
// of a whole query.
var planning = clickhouse.Settings{
	// Else every part that an index rules out is opened first.
	"use_skip_indexes_on_data_read": 0,
	// With FINAL, rows that an index found are not searched again in all parts. Rows of one key
	// are equal, so any of them will do.
	"use_skip_indexes_if_final_exact_mode": 0,
	// Window functions process one session after the other in the order of the tables' keys,
	// without sorting all rows first. Queries over everything then fit into memory.
	"optimize_read_in_window_order": 1,
	"read_in_order_use_buffering":   0,
	// Deriving comparisons from others took a quarter of the time of the queries about
	// caches, and no other was slower without.
	"optimize_and_compare_chain": 0,
	// The planner has removed the unused columns of subqueries by then. A search for more of them in the whole
	// plan took an eighth of the time of a question about one session. Each query of the catalogue reads the same
	// bytes without it. In some versions it fails reads with FINAL (ClickHouse issue 105521).
	"query_plan_remove_unused_columns": 0,
	// With FINAL, a condition on the key is tested before the other columns are read. The server moves no
	// other condition: equal keys then still collapse to the newest row.
	"optimize_move_to_prewhere_if_final": 1,
	// With the default, a query has one thread if the server has less free memory than this for
	// each. The embedded server has two gibibytes: all queries had one thread.
	"max_threads_min_free_memory_per_thread": 0,
	// Sorts and groups go to disk before a query on two threads reaches its limit. The ratio is
	// of the server's memory.
	"max_bytes_ratio_before_external_sort":     0.2,
	"max_bytes_ratio_before_external_group_by": 0.2,
}

// simple are further settings for a select of one session's rows from one table.
var simple = clickhouse.Settings{
	// The selects of an answer share the processors among them. With a second thread
	// each, the server hands every part to a thread to look at its indexes: that was a
	// third of its time.
	"max_threads": 1,
	// Questions about a turn are followed by others about its session. Unpacking the granules
	// that a session is in takes a sixth of the server's time.
	"use_uncompressed_cache": 1,
	// The older planner supports such a select, and takes less time of the server. A later
	// ClickHouse may remove it.
	"enable_analyzer": 0,
}

func (limits Limits) addTo(settings clickhouse.Settings) {
	if limits.Time > 0 {
		settings["max_execution_time"] = int((limits.Time + time.Second - 1) / time.Second)
	}
	if limits.Rows > 0 {
		settings["max_result_rows"] = limits.Rows
		settings["result_overflow_mode"] = "throw"
	}
	if limits.Memory > 0 {
		settings["max_memory_usage"] = limits.Memory
	}
}

// structured finds the parameters of a statement that are arrays, maps or tuples. The server
// parses these as literals with escapes.
var structured = regexp.MustCompile(`\{\s*(\w+)\s*:\s*(?:Array|Map|Tuple)\(`)

func escapeParameters(sql string, parameters map[string]string) chsql.Params {
	literal := make(map[string]bool)
	for _, m := range structured.FindAllStringSubmatch(sql, -1) {
		literal[m[1]] = true
	}
	escaped := make(chsql.Params, len(parameters))
	for name, value := range parameters {
		escaped[name] = chsql.Text(value)
		if literal[name] {
			escaped[name] = chsql.Literal(value)
		}
	}
	return escaped
}
