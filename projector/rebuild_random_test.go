package projector

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

// TestRebuildOfARandomStream compares the rebuilt tables with the live ones row for row, by the
// server's EXCEPT and not by digests.
func TestRebuildOfARandomStream(t *testing.T) {
	t.Parallel()
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			draw := rand.New(rand.NewPCG(seed, 0))
			for round := range 3 {
				f.publishRandom(draw, 20+draw.IntN(80))
				p := f.guarded(new(logbook))
				p.config.BatchMessages = 1 + draw.IntN(40)
				if round > 0 && draw.IntN(2) == 0 {
					// Deleted before it is projected: both sets have a gap.
					info, err := f.stream().Info(t.Context())
					f.must(err)
					f.must(f.stream().DeleteMsg(t.Context(), info.State.LastSeq-uint64(draw.IntN(10))))
				}
				f.must(f.run(p))
			}
			r := f.rebuild()
			r.BatchMessages, r.CompareOnly = 1+draw.IntN(60), true
			var looked int
			r.Steps = atEach(func(point string) {
				if point == pointCompared {
					looked = f.sameRows()
				}
			})
			if got := f.rebuilt(r); len(got.Compared.Differences) > 0 || looked < 14 || got.Compared.Tables != looked {
				t.Errorf("compared %+v, looked at %d tables", got, looked)
			}
		})
	}
}

// publishRandom publishes random messages of all kinds of producers, valid and invalid.
func (f *fixture) publishRandom(draw *rand.Rand, n int) {
	f.t.Helper()
	for range n {
		id := draw.IntN(60)
		m := projectortest.Event(id, 0).Binary()
		switch draw.IntN(12) {
		case 0:
			m = projectortest.Event(id, 1+draw.IntN(2)).Binary() // a conflict, if it is not the first
		case 1:
			m.Data = m.Data[:draw.IntN(len(m.Data))]
		case 2:
			m = schema.Message{Subject: "ctx.v1.noise", Data: []byte{0xff, byte(draw.IntN(256))}}
		case 3:
			m = projectortest.Redaction(f.t, draw.IntN(5), projectortest.Secret).Binary()
		case 4, 5:
			m = projectortest.Foreign(100+draw.IntN(20), `{"note":"`+projectortest.Secret+`"}`).Binary()
		case 6:
			m.Header[quarantine.ReplayHeader] = []string{fmt.Sprintf("%s:%d", f.incarnation(), 1+draw.IntN(50))}
		case 7:
			e := projectortest.Event(id, 0)
			e.Type = "dev.ctxledger.context.invented.later.v1"
			m = e.Binary()
		case 8:
			m, _ = projectortest.Event(id, 0).Structured()
		case 9:
			m.Header["X-Bytes"] = []string{"\xff\xfe"}
			m.Data = m.Data[1:]
		}
		f.publish(m)
	}
	f.flush()
}

// sameRows compares the tables with the rebuilt ones and returns the number of tables that a
// rebuild compares, too. A rebuild carries the table retold over as it is.
func (f *fixture) sameRows() (tables int) {
	f.t.Helper()
	rows, err := f.sql.Query(f.t.Context(), "SELECT database, name FROM system.tables WHERE database = concat(currentDatabase(), '_rebuild') AND name NOT IN ('commits', 'rebuild_state')")
	f.must(err)
	for rows.Next() {
		var database, name string
		f.must(rows.Scan(&database, &name))
		if name != "retold" {
			tables++
		}
		live, rebuilt := name+" FINAL", database+"."+name+" FINAL"
		for _, pair := range [][2]string{{live, rebuilt}, {rebuilt, live}} {
			if n := f.count(fmt.Sprintf("SELECT count() FROM (SELECT * FROM %s EXCEPT SELECT * FROM %s)", pair[0], pair[1])); n > 0 {
				f.t.Errorf("%d rows of %s are not in %s", n, pair[0], pair[1])
			}
		}
	}
	f.must(rows.Err())
	return tables
}
