package chsql_test

import (
	"context"
	"slices"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	m.Run()
}

// TestParametersKeepTheirTexts: line breaks, tabs, quotes and backslashes come back as they were.
func TestParametersKeepTheirTexts(t *testing.T) {
	t.Parallel()
	conn := embeddedtest.Connect(t, embeddedtest.ClickHouse(t).ClickHouseDSN())
	text := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("\n\t\r\\'\"`\x00\b\f{}[],N")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		one, list := text.Draw(t, "one"), rapid.SliceOf(text).Draw(t, "list")
		ctx := clickhouse.Context(context.Background(), clickhouse.WithParameters(chsql.Params{
			"one": chsql.Text(one), "list": chsql.Texts(list),
		}.Encoded()))
		var gotOne string
		var gotList []string
		err := conn.QueryRow(ctx, "SELECT {one:String}, {list:Array(String)}").Scan(&gotOne, &gotList)
		if err != nil || gotOne != one || !slices.Equal(gotList, list) {
			t.Fatalf("%q and %q came back as %q and %q, %v", one, list, gotOne, gotList, err)
		}
	})
}
