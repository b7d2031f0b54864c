package projector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/rebuild"
)

// A stretch is a range that lost its journal or its tokens. Base tables may hold its rows
// twice, views must not.
type stretch struct{ first, last uint64 }

// faultless is the oracle of the fault matrix. Call it when the ledger is level and no
// projector runs. faultless checks these conditions:
//
//   - The stream has every message that it acknowledged to a publisher.
//   - events, duplicates and quarantine together have every message of the stream once, in the
//     stream's order, and no other message.
//   - The views show the same messages.
//   - A second projection of the stream into empty tables gives the same rows in every table.
//   - The transparency log has exactly the leaves of the events, in order. Its root is in the
//     last commit and in every signed head.
//   - No base table has a repeated row without FINAL, except in the stretches.
//   - The quarantine stream has a copy of every refused message.
//   - Every table has the rows that commits counts.
func (f *fixture) faultless(doubled ...stretch) {
	f.t.Helper()
	f.settled(doubled...)
	f.sameAgain()
}

// settled is faultless without the second projection, which takes most of its time. Call it
// between the faults of one ledger, so that the next start cannot repair what a fault left.
func (f *fixture) settled(doubled ...stretch) {
	f.t.Helper()
	f.flush()
	want := f.outcomes()
	for seq, id := range f.acknowledged {
		if _, ok := want[seq]; !ok {
			f.t.Errorf("message %s was acknowledged as %d, and the stream does not have it", id, seq)
		}
	}
	f.exact("FINAL")
	if len(doubled) == 0 {
		f.exact("")
	}
	f.views(want)
	f.logged()
	f.single(doubled)
	f.counted()
	refused := f.count("SELECT uniqExact(incarnation, stream_seq) FROM quarantine")
	if copies := f.refusedCopies(); uint64(len(copies)) != refused {
		f.t.Errorf("the quarantine stream has copies of %d messages, the table has %d", len(copies), refused)
	}
}

// views compares the views with the outcome of each message.
func (f *fixture) views(want map[uint64]string) {
	f.t.Helper()
	seqs := make(map[string][]uint64)
	for seq, outcome := range want {
		seqs[outcome] = append(seqs[outcome], seq)
	}
	for view, outcome := range map[string]string{"recorded_events": "events", "repeated_events": "duplicates", "refused_events": "quarantine"} {
		slices.Sort(seqs[outcome])
		var shown []uint64
		f.must(f.sql.QueryRow(f.t.Context(), "SELECT arraySort(groupArray(stream_seq)) FROM "+view).Scan(&shown))
		if !slices.Equal(shown, seqs[outcome]) {
			f.t.Errorf("the view %s shows %d messages, want %d", view, len(shown), len(seqs[outcome]))
		}
	}
	if lost := f.count("SELECT count() FROM recorded_events e LEFT ANTI JOIN log_entries l ON e.incarnation = l.incarnation AND e.stream_seq = l.stream_seq WHERE e.event_type = 'context.log.appended'"); lost > 0 {
		f.t.Errorf("%d events are not in the view of their kind", lost)
	}
}

// sameAgain projects the stream into a second set of tables. sameAgain compares both sets row
// for row, as every view reads them.
func (f *fixture) sameAgain() {
	f.t.Helper()
	done, err := rebuild.Rebuild{JetStream: f.js, Projector: ForRebuild, Ledger: f.ledger, Ring: testLogRing, CompareOnly: true, Timing: quickTiming, BatchMessages: 1000}.Run(f.t.Context())
	if err != nil {
		f.t.Errorf("the stream projected again: %v, with the differences %+v", err, done.Compared.Differences)
	}
}

// counted compares the rows of each table with the sum of what the commits count.
func (f *fixture) counted() {
	f.t.Helper()
	var selects []string
	for _, table := range ledger.Tables() {
		selects = append(selects, "SELECT '"+table+"', count() FROM "+table+" FINAL")
	}
	counted := make(map[string]uint64)
	f.must(f.sql.QueryRow(f.t.Context(), "SELECT sumMap(rows) FROM commits FINAL").Scan(&counted))
	rows, err := f.sql.Query(f.t.Context(), strings.Join(selects, " UNION ALL "))
	f.must(err)
	defer rows.Close()
	for rows.Next() {
		var table string
		var n uint64
		f.must(rows.Scan(&table, &n))
		if n != counted[table] {
			f.t.Errorf("%s has %d rows, commits counts %d", table, n, counted[table])
		}
	}
	f.must(rows.Err())
}

// single finds repeated rows of base tables outside of the stretches.
func (f *fixture) single(doubled []stretch) {
	f.t.Helper()
	rows, err := f.sql.Query(f.t.Context(), `SELECT c.table FROM system.columns c JOIN system.tables t ON c.database = t.database AND c.table = t.name
		WHERE c.database = currentDatabase() AND c.name = 'stream_seq' AND t.engine = 'ReplacingMergeTree'`)
	f.must(err)
	var selects []string
	for rows.Next() {
		var table string
		f.must(rows.Scan(&table))
		selects = append(selects, fmt.Sprintf("SELECT '%s', stream_seq, count() AS n FROM %[1]s GROUP BY incarnation, stream_seq HAVING n > 1", table))
	}
	f.must(rows.Close())
	selects = append(selects, "SELECT 'commits', first_seq, count() AS n FROM commits GROUP BY incarnation, first_seq, last_seq HAVING n > 1")
	rows, err = f.sql.Query(f.t.Context(), strings.Join(selects, " UNION ALL "))
	f.must(err)
	defer rows.Close()
	for rows.Next() {
		var table string
		var seq, n uint64
		f.must(rows.Scan(&table, &seq, &n))
		if !slices.ContainsFunc(doubled, func(s stretch) bool { return s.first <= seq && seq <= s.last }) {
			f.t.Errorf("%s has the row of message %d %d times", table, seq, n)
		}
	}
	f.must(rows.Err())
}
