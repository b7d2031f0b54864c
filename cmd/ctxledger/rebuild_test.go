package main

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptSQL changes the tables as only a mishap would.
func scriptSQL(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sql STATEMENT")
	}
	options, err := clickhouse.ParseDSN(ts.Getenv("CLICKHOUSE"))
	ts.Check(err)
	conn, err := clickhouse.Open(options)
	ts.Check(err)
	defer conn.Close()
	ts.Check(conn.Exec(context.Background(), args[0]))
}
