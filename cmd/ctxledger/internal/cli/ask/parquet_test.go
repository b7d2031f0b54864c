package ask_test

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
)

// sameParquet compares the Parquet of the shards with that of one machine: names, types and rows.
func (r *shardRig) sameParquet(questions ...string) {
	r.T.Helper()
	shards := strings.Replace(clitest.OverHTTP(r.T, r.Shards[0].ReaderDSN(), r.Shards[0].HTTPURL()), "clickhouse:", "http:", 1)
	one := strings.Replace(clitest.OverHTTP(r.T, r.DSN, r.HTTP), "clickhouse:", "http:", 1)
	for _, name := range questions {
		var columns, rows [2][][]any
		for i, dsn := range []string{shards, one} {
			stdout, stderr, code := r.RunOn(dsn, "query", name, "-o", "parquet")
			if code != cli.ExitDone {
				r.T.Fatalf("%s as Parquet ended with %d: %s", name, code, stderr)
			}
			columns[i], rows[i] = r.unpacked("DESCRIBE", stdout), r.unpacked("SELECT * FROM", stdout)
		}
		if len(rows[1]) == 0 {
			r.T.Errorf("%s has no rows", name)
		}
		for _, both := range [][2][][]any{columns, rows} {
			if !slices.EqualFunc(both[0], both[1], shardtest.EqualRows) {
				r.T.Errorf("%s as Parquet is\n%v\nand on one machine\n%v", name, both[0], both[1])
			}
		}
	}
	stdout, stderr, code := r.RunOn(shards, "query", "-o", "parquet", "--sql", "SELECT uniqExact(session_id), [1.5, NULL] FROM calls")
	if rows := r.unpacked("SELECT `shard`, `uniqExact(session_id)` > 0 FROM", stdout); code != cli.ExitDone || fmt.Sprint(rows) != "[[1 1] [2 1]]" {
		r.T.Errorf("a statement as Parquet ended with %d and has %v: %s", code, rows, stderr)
	}
	if _, stderr, code := r.RunOn(shards, "query", "-o", "parquet", "--sql", "SELECT groupArray(event_time) AS times FROM calls"); code != cli.ExitUsage || !strings.Contains(stderr, "the column times has the type Array(DateTime64(9, 'UTC')), which cannot be encoded") {
		r.T.Errorf("times in a list as Parquet ended with %d: %s", code, stderr)
	}
}

// unpacked returns the rows of a statement that reads Parquet.
func (r *shardRig) unpacked(verb, parquet string) (list [][]any) {
	r.T.Helper()
	data := clickhouse.Parameters{"data": base64.StdEncoding.EncodeToString([]byte(parquet))}
	rows, err := r.Plain.SQL(nil).Conn.Query(clickhouse.Context(r.T.Context(), clickhouse.WithParameters(data)), verb+" format(Parquet, base64Decode({data:String}))")
	if err != nil {
		r.T.Fatalf("%s the Parquet: %v", verb, err)
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]any, len(rows.Columns()))
		for i, column := range rows.ColumnTypes() {
			row[i] = reflect.New(column.ScanType()).Interface()
		}
		if err := rows.Scan(row...); err != nil {
			r.T.Fatal(err)
		}
		for i := range row {
			v := reflect.ValueOf(row[i])
			for v.Kind() == reflect.Pointer && !v.IsNil() {
				v = v.Elem()
			}
			row[i] = v.Interface()
			if v.Kind() == reflect.Pointer {
				row[i] = nil
			}
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		r.T.Fatal(err)
	}
	return list
}
