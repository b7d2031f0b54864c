package projector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/translog"
)

// simLedger holds the tables of a simulated server. The world's lock guards it.
type simLedger struct {
	w       *world
	tables  map[string][]ledger.Position // every stored row, with repeats
	commits []ledger.Commit
	tokens  []*simInsert // the blocks with known tokens, oldest first
	window  int
	running []*simInsert
	short   bool // tokens do not depend on the messages; a planted fault

	unnamed   []ledger.Range // ranges whose tokens are forgotten
	discarded []ledger.Range
	fenceless []ledger.Range // ranges that a suspended writer wrote after they were discarded
}

// simInsert is one block of one table.
type simInsert struct {
	from   *process
	table  string
	token  string
	r      ledger.Range
	rows   []ledger.Position
	commit *ledger.Commit
}

func newSimLedger(w *world) *simLedger {
	return &simLedger{w: w, tables: make(map[string][]ledger.Position), window: 10_000}
}

// copied is the content of a backup.
func (l *simLedger) copied() *simLedger {
	c := *l
	c.tables, c.commits, c.tokens, c.running = maps.Clone(l.tables), slices.Clone(l.commits), slices.Clone(l.tokens), nil
	for table, rows := range c.tables {
		c.tables[table] = slices.Clone(rows)
	}
	return &c
}

// forget drops all tokens except the kept ones.
func (l *simLedger) forget(kept []*simInsert) {
	for _, i := range l.tokens {
		if !slices.Contains(kept, i) {
			l.unnamed = append(l.unnamed, i.r)
		}
	}
	l.tokens = kept
}

// final returns the rows of a table by their keys, without repeats.
func (l *simLedger) final(table string) map[simPlace]bool {
	rows := make(map[simPlace]bool)
	for _, at := range l.tables[table] {
		rows[placeIn(at)] = true
	}
	return rows
}

// store stores all rows of a block, or nothing if the server knows its token.
func (l *simLedger) store(i *simInsert) {
	if slices.ContainsFunc(l.tokens, func(known *simInsert) bool { return known.token == i.token }) {
		return
	}
	if l.tokens = append(l.tokens, i); len(l.tokens) > l.window {
		l.forget(l.tokens[1:])
	}
	if i.from.wasPaused() && slices.ContainsFunc(l.discarded, i.r.Same) {
		l.fenceless = append(l.fenceless, i.r)
	}
	if i.commit == nil {
		l.tables[i.table] = append(l.tables[i.table], i.rows...)
		return
	}
	l.commits = append(l.commits, *i.commit)
	for table, n := range i.commit.Rows {
		if held := l.count(table, i.r); held < n && !slices.ContainsFunc(l.fenceless, i.r.Same) {
			l.w.breaks("the commit of %d to %d exists and %s has %d of its %d rows", i.r.First, i.r.Last, table, held, n)
		}
	}
}

func (l *simLedger) count(table string, r ledger.Range) uint64 {
	seqs := make(map[uint64]bool)
	for _, at := range l.in(table, r) {
		seqs[at.StreamSeq] = true
	}
	return uint64(len(seqs))
}

// newest returns the commits of a stream, newest first, without repeats.
func (l *simLedger) newest(incarnation uuid.UUID) []ledger.Commit {
	var list []ledger.Commit
	seen := make(map[[2]uint64]bool)
	for _, c := range l.commits {
		if c.Incarnation == incarnation && !seen[[2]uint64{c.First, c.Last}] {
			seen[[2]uint64{c.First, c.Last}] = true
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b ledger.Commit) int { return int(b.First) - int(a.First) })
	return list
}

// restart ends the running inserts: some of them are stored.
func (l *simLedger) restart(r *rand.Rand) {
	for _, i := range l.running {
		if r.IntN(2) == 0 {
			l.store(i)
		}
	}
	l.running = nil
}

// simStore is a process's client.
type simStore struct{ *process }

func (s simStore) ask(ctx context.Context, kind string, do func(*simLedger)) error {
	return s.call(ctx, "clickhouse", kind, func(*rand.Rand) error {
		do(s.w.tables)
		return nil
	})
}

// insertLimit is the server's time limit for an insert.
const insertLimit = 8 * time.Second

func (s simStore) insert(i *simInsert) error {
	return s.call(context.Background(), "clickhouse", "insert", func(r *rand.Rand) error {
		l := s.w.tables
		if s.w.calm {
			l.store(i)
			return nil
		}
		switch dice := r.Float64(); {
		case dice < s.w.odds.refused:
			s.w.faults["insert refused"]++
			return &clickhouse.Exception{Code: []int32{252, 241, 159, 201, 243}[r.IntN(5)], Message: "simulated"}
		case dice < s.w.odds.refused+s.w.odds.late:
			s.w.faults["insert late"]++
			l.running = append(l.running, i)
			go s.land(i, time.Duration(r.Int64N(int64(insertLimit))))
			return fmt.Errorf("insert into %s: %w", i.table, errSimLost)
		}
		l.store(i)
		return nil
	})
}

// land stores an insert that its client has given up, unless it was killed.
func (s simStore) land(i *simInsert, after time.Duration) {
	select {
	case <-s.w.over:
		return
	case <-time.After(after):
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	l := s.w.tables
	if at := slices.Index(l.running, i); at >= 0 {
		l.running = slices.Delete(l.running, at, at+1)
		l.store(i)
	}
}

func (s simStore) FinishSwap(ctx context.Context) (bool, error) {
	return false, s.ask(ctx, "swap", func(*simLedger) {})
}

func (s simStore) KillInserts(ctx context.Context, incarnation uuid.UUID) error {
	return s.call(ctx, "clickhouse", "kill", func(r *rand.Rand) error {
		l := s.w.tables
		l.running = slices.DeleteFunc(l.running, func(i *simInsert) bool {
			if i.r.Incarnation == incarnation && r.IntN(3) == 0 {
				l.store(i) // the insert was faster than the kill
			}
			return i.r.Incarnation == incarnation
		})
		return nil
	})
}

func (s simStore) token(table string, r ledger.Range) string {
	if s.w.tables.short {
		return fmt.Sprint(r.Incarnation, table, r.First)
	}
	return fmt.Sprint(r.Incarnation, table, r.First, r.Last, r.Digest, r.Epoch)
}

func (s simStore) WriteRows(_ context.Context, b *ledger.Batch, _ uint64, tables ...string) (err error) {
	places := b.Places()
	for _, table := range slices.Sorted(maps.Keys(places)) {
		if len(tables) > 0 && !slices.Contains(tables, table) {
			continue
		}
		failed := s.insert(&simInsert{from: s.process, table: table, token: s.token(table, b.Range), r: b.Range, rows: places[table]})
		if err == nil {
			err = failed
		}
	}
	return err
}

func (s simStore) Commit(_ context.Context, b *ledger.Batch, epoch uint64) error {
	c := ledger.Commit{Range: b.Range, Rows: b.Rows()}
	c.Epoch = epoch
	return s.insert(&simInsert{from: s.process, table: "commits", token: s.token("commits", b.Range), r: b.Range, commit: &c})
}

func (s simStore) Discard(ctx context.Context, r ledger.Range, refused []uint64) error {
	return s.ask(ctx, "discard", func(l *simLedger) {
		l.w.faults["range discarded"]++
		l.discarded = append(l.discarded, r)
		for table, rows := range l.tables {
			l.tables[table] = slices.DeleteFunc(rows, func(at ledger.Position) bool {
				spared := ledger.OfRefused(table) && slices.Contains(refused, at.StreamSeq)
				return at.Incarnation == r.Incarnation && r.First <= at.StreamSeq && at.StreamSeq <= r.Last && !spared
			})
		}
	})
}

func (s simStore) Evict(ctx context.Context, r ledger.Range, lacking []ledger.Lack) error {
	return s.ask(ctx, "evict", func(l *simLedger) {
		l.w.faults["rows evicted"]++
		for _, lack := range lacking {
			l.tables[lack.Table] = slices.DeleteFunc(l.tables[lack.Table], func(at ledger.Position) bool {
				return slices.ContainsFunc(lack.Strange, func(strange ledger.Position) bool {
					return at.Incarnation == r.Incarnation && at.StreamSeq == strange.StreamSeq
				})
			})
		}
	})
}

func (s simStore) LastCommit(ctx context.Context, incarnation uuid.UUID) (r ledger.Range, found bool, err error) {
	err = s.ask(ctx, "last commit", func(l *simLedger) {
		for _, c := range l.newest(incarnation) {
			if !found || c.Last > r.Last {
				r, found = c.Range, true
			}
		}
	})
	return r, found, err
}

func (s simStore) CommittedAnywhere(ctx context.Context, incarnation uuid.UUID) (uint64, error) {
	last, _, err := s.LastCommit(ctx, incarnation)
	return last.Last, err
}

// LogAt returns none: the simulation keeps no transparency log.
func (s simStore) LogAt(context.Context, uuid.UUID, uint64) (ledger.Log, error) {
	return ledger.Log{}, nil
}

func (s simStore) CommitsBefore(ctx context.Context, incarnation uuid.UUID, first uint64, limit int) (list []ledger.Commit, err error) {
	err = s.ask(ctx, "commits", func(l *simLedger) {
		for _, c := range l.newest(incarnation) {
			if c.First < first && len(list) < limit {
				list = append(list, c)
			}
		}
	})
	return list, err
}

func (s simStore) Held(ctx context.Context, commits []ledger.Commit) (held []map[string]uint64, err error) {
	err = s.ask(ctx, "held", func(l *simLedger) {
		for _, c := range commits {
			counts := make(map[string]uint64)
			for table := range c.Rows {
				counts[table] = l.count(table, c.Range)
			}
			held = append(held, counts)
		}
	})
	return held, err
}

func (s simStore) WriteLacking(_ context.Context, b *ledger.Batch, _ uint64, lacking []ledger.Lack) (err error) {
	places := b.Places()
	for _, lack := range lacking {
		rows := slices.DeleteFunc(places[lack.Table], func(at ledger.Position) bool { return !slices.Contains(lack.Sequences, at.StreamSeq) })
		failed := s.insert(&simInsert{from: s.process, table: lack.Table, token: s.token(lack.Table, b.Range), r: b.Range, rows: rows})
		if err == nil {
			err = failed
		}
	}
	return err
}

func (s simStore) Lacking(ctx context.Context, b *ledger.Batch, first uint64, _ time.Time) (lacking []ledger.Lack, err error) {
	places, look := b.Places(), b.Range
	look.First = first
	err = s.ask(ctx, "lacking", func(l *simLedger) {
		for _, table := range simTables {
			if lack, lacks := ledger.LackOf(table, placed(places[table]), placed(l.in(table, look))); lacks {
				lacking = append(lacking, lack)
			}
		}
	})
	return lacking, err
}

// placed are rows that depend only on the places of their messages.
func placed(places []ledger.Position) []ledger.Placed {
	list := make([]ledger.Placed, len(places))
	for i, at := range places {
		list[i].Position = at
	}
	return list
}

func (s simStore) LastHeld(ctx context.Context, r ledger.Range) (last uint64, err error) {
	err = s.ask(ctx, "last held", func(l *simLedger) {
		for _, rows := range l.tables {
			for _, at := range rows {
				if at.Incarnation == r.Incarnation && at.StreamSeq > r.Last {
					last = max(last, at.StreamSeq)
				}
			}
		}
	})
	return last, err
}

func (s simStore) Identities(ctx context.Context, except []uuid.UUID, most, add func(uint64)) error {
	return s.ask(ctx, "identities", func(l *simLedger) {
		most(uint64(len(l.tables["events"])))
		for _, at := range l.tables["events"] {
			if !slices.Contains(except, at.Incarnation) {
				add(s.w.all[placeIn(at)].identity)
			}
		}
	})
}

func (s simStore) Lookup(ctx context.Context, identities []uint64) (found []ledger.Known, err error) {
	err = s.ask(ctx, "look up", func(l *simLedger) {
		for _, at := range l.tables["events"] {
			if c := s.w.all[placeIn(at)]; slices.Contains(identities, c.identity) {
				found = append(found, ledger.Known{Tenant: c.id.Tenant, Source: c.id.Source, EventID: c.id.ID, Position: at, Digest: c.digest})
			}
		}
		slices.SortStableFunc(found, func(a, b ledger.Known) int {
			return cmp.Or(a.Position.RecordedAt.Compare(b.Position.RecordedAt), cmp.Compare(a.Position.StreamSeq, b.Position.StreamSeq))
		})
	})
	return found, err
}

func (s simStore) Traces(ctx context.Context, r ledger.Range) (map[uint64]ledger.Trace, error) {
	traces := make(map[uint64]ledger.Trace)
	return traces, s.ask(ctx, "traces", func(l *simLedger) {
		for _, table := range outcomes {
			for _, at := range l.in(table, r) {
				trace := ledger.Trace{RecordedAt: at.RecordedAt}
				if table == "events" {
					trace.Digest = s.w.all[placeIn(at)].digest
				}
				traces[at.StreamSeq] = trace
			}
		}
	})
}

// in returns the rows of a table within a range.
func (l *simLedger) in(table string, r ledger.Range) (list []ledger.Position) {
	for _, at := range l.tables[table] {
		if at.Incarnation == r.Incarnation && r.First <= at.StreamSeq && at.StreamSeq <= r.Last {
			list = append(list, at)
		}
	}
	return list
}

// Reintroduced treats a valid, refused message with a secret as refused for the secret: the ids
// of such messages have no conflicts.
func (s simStore) Reintroduced(ctx context.Context, r ledger.Range) (list []ledger.Position, err error) {
	err = s.ask(ctx, "reintroduced", func(l *simLedger) {
		for _, at := range l.in("quarantine", r) {
			if c := s.w.all[placeIn(at)]; c.valid && c.secret >= 0 && !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
		slices.SortFunc(list, func(a, b ledger.Position) int { return cmp.Compare(a.StreamSeq, b.StreamSeq) })
	})
	return list, err
}

func (s simStore) WithheldThrough(ctx context.Context, incarnation uuid.UUID, through uint64, _ ...privacy.Redaction) (list []privacy.Withheld, err error) {
	err = s.ask(ctx, "withheld", func(l *simLedger) {
		for _, at := range l.tables["redactions"] {
			if at.Incarnation != incarnation || at.StreamSeq <= through {
				list = append(list, s.w.all[placeIn(at)].withheld...)
			}
		}
	})
	return list, err
}

func (s simStore) RecordedRules(ctx context.Context, incarnations []uuid.UUID) (map[uuid.UUID][]ledger.RecordedRules, error) {
	all := make(map[uuid.UUID][]ledger.RecordedRules)
	err := s.ask(ctx, "rules", func(l *simLedger) {
		for _, incarnation := range incarnations {
			if commits := l.newest(incarnation); len(commits) > 0 {
				all[incarnation] = []ledger.RecordedRules{{Rules: ledger.NewestRules, First: 1, Projected: commits[len(commits)-1].First, Last: commits[0].Last}}
			}
		}
	})
	return all, err
}

func (s simStore) Leaves(context.Context, uuid.UUID, []uint64) (map[uint64]translog.Leaf, error) {
	return nil, nil
}

func (s simStore) LogWhole(context.Context, uuid.UUID) (uint64, error) { return 0, nil }
