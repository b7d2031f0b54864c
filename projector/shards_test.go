package projector

import (
	"fmt"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// TestRedactionReachesOtherShards: a value that a session of one shard withholds is withheld in the
// sessions of the other, also by a projector that starts later.
func TestRedactionReachesOtherShards(t *testing.T) {
	t.Parallel()
	const n = 2
	f := newFleetFixture(t, n)
	second, err := ledger.Open(t.Context(), migrated.ClickHouse(t).ClickHouseDSN())
	f.must(err)
	t.Cleanup(func() { second.Close() })
	shards := []*ledger.Ledger{f.ledger, second}
	level := func() {
		t.Helper()
		f.flush()
		for i, s := range schema.Partitions(n).EventStreams() {
			f.await(s.Name+" is on its shard", func() bool {
				stream, incarnation, err := streamio.OpenStream(t.Context(), f.js, s.Name)
				if err != nil {
					return false
				}
				last, _, err := shards[i].LastCommit(t.Context(), incarnation)
				return err == nil && last.Last == stream.CachedInfo().State.LastSeq
			})
		}
	}
	withheld := projectortest.Redaction(t, 1, projectortest.Secret)
	home := schema.Partitions(n).Of(schema.SubjectOf(withheld).String())
	session := sessionsOf(n)[1-home]
	refused := func() (count uint64) {
		t.Helper()
		sql := "SELECT count() FROM quarantine WHERE code = 'redaction_reintroduced'"
		f.must(shards[1-home].SQL(nil).Conn.QueryRow(t.Context(), sql).Scan(&count))
		return count
	}
	id := 0
	bring := func() {
		t.Helper()
		id++
		e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "see " + projectortest.Secret}, fmt.Sprint("back-", id), "urn:fleet", time.Unix(1, 0),
			schema.Correlation{Tenant: "acme", SessionID: session})
		f.must(err)
		f.publish(e.Binary())
		level()
	}
	begin := func(owner string) (stop func() error) {
		fleet := f.fleet(owner, n)
		fleet.config.Keys, fleet.config.Shards = projectortest.Keys(t), shards
		return f.start(fleet)
	}
	stop := begin("first")
	f.publish(withheld.Binary())
	level()
	f.await("the other shard knows", func() bool {
		bring()
		return refused() > 0
	})
	f.must(stop())
	before := refused()
	begin("second")
	for range 3 {
		bring()
	}
	if got := refused() - before; got != 3 {
		t.Errorf("%d of 3 are refused", got)
	}
	for i, l := range shards {
		for j, s := range schema.Partitions(n).EventStreams() {
			_, incarnation, err := streamio.OpenStream(t.Context(), f.js, s.Name)
			f.must(err)
			if _, found, err := l.LastCommit(t.Context(), incarnation); err != nil || found != (i == j) {
				t.Errorf("shard %d has commits of %s: %v %v", i, s.Name, found, err)
			}
		}
	}
}
