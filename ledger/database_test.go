package ledger_test

import (
	"net/url"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
)

func TestCreateDatabase(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t, func(c *embedded.Config) { c.NoNATS = true })
	named := func(dsn, database string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = database
		return u.String()
	}
	dsn := named(s.ClickHouseDSN(), "ctxledger-new")
	if _, err := ledger.Open(t.Context(), dsn); !ledger.NotMigrated(err) {
		t.Fatalf("without a database: %v", err)
	}
	for range 2 {
		if err := ledger.CreateDatabase(t.Context(), dsn); err != nil {
			t.Fatal(err)
		}
	}
	l, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := shadow.Of(l).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, dsn := range map[string]string{
		"the reader": named(s.ReaderDSN(), "ctxledger_other"), "a name of others": named(s.ClickHouseDSN(), "other"),
	} {
		if err := ledger.CreateDatabase(t.Context(), dsn); err == nil {
			t.Errorf("%s creates a database", name)
		}
	}
}
