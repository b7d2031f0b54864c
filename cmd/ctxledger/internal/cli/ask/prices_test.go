package ask_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// samePrices gives the shards and one machine the same prices, by which sessions cost the same. A shard
// with other prices is an error.
func (r *shardRig) samePrices(places ...shardtest.Place) {
	r.T.Helper()
	file := filepath.Join(r.Data, "prices.csv")
	if err := os.WriteFile(file, []byte("model,bucket,per_million,currency,source\n*,input,2.5,EUR,test\n*,output,7.5,EUR,test\n"), 0o600); err != nil {
		r.T.Fatal(err)
	}
	of := func(args ...string) (printed [2]string) {
		for i, dsn := range []string{r.Shards[0].ClickHouseDSN(), r.DSN} {
			text, code := r.Printed(dsn, "", args)
			if code != cli.ExitDone {
				r.T.Fatalf("%v ended with %d: %s", args, code, text)
			}
			printed[i] = text
		}
		return printed
	}
	of("prices", "import", file)
	of("prices", "built-in", "off")
	if list := of("prices", "list"); list[0] != list[1] || strings.Count(list[0], "EUR") != 2 {
		r.T.Errorf("the prices are\n%s\nand on one machine\n%s", list[0], list[1])
	}
	for _, p := range places {
		if costs := of("query", "model-costs", "--param", "session_id="+p.Session); costs[0] != costs[1] || !strings.Contains(costs[0], "EUR") {
			r.T.Errorf("session %s costs\n%s\nand on one machine\n%s", p.Session, costs[0], costs[1])
		}
	}
	shards := r.Ledgers().All()
	if err := read.Models(shards[1]).SetBuiltIn(r.T.Context(), true); err != nil {
		r.T.Fatal(err)
	}
	if _, stderr, code := r.Run("prices", "list"); code != cli.ExitFailed || !strings.Contains(stderr, "the shards do not have the same rows") {
		r.T.Errorf("different prices ended with %d: %s", code, stderr)
	}
}
