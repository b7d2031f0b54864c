package privacy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// Erasable is a message that an erasure is about, as the tables have it.
type Erasable struct {
	ledger.Position
	Tenant string
	Record schema.ErasedRecord // of an event: the values that stay, besides place and leaf
	Leaf   string              // in the log, hex; empty for what is not in it
	Kept   bool                // an event of the subject with a type that stays
	First  *ledger.Position    // of a repeated event, where its first was; nil otherwise
}

// Erasable calls visit for the events of a subject, in the order of each stream. Repeated
// messages of these events, and of events without rows, follow. An empty tenant is all.
func (l Tables) Erasable(ctx context.Context, s ledger.Subject, tenant string, visit func(Erasable)) error {
	for row := range l.sql.Rows(ctx, "erasable_events", parametersOf(s, tenant)) {
		var e Erasable
		r := &e.Record
		if err := row.Scan(&e.Incarnation, &e.StreamSeq, &e.RecordedAt, &e.Tenant, &r.SessionID, &e.Leaf, &e.Kept, &r.Source, &r.SourceSequence, &r.RunID, &r.TurnID, &r.ItemID); err != nil {
			return fmt.Errorf("find events: %w", err)
		}
		visit(e)
	}
	for row := range l.sql.Rows(ctx, "erasable_repeats", parametersOf(s, tenant)) {
		e := Erasable{First: new(ledger.Position)}
		if err := row.Scan(&e.Incarnation, &e.StreamSeq, &e.RecordedAt, &e.Tenant, &e.First.Incarnation, &e.First.StreamSeq); err != nil {
			return fmt.Errorf("find repeated events: %w", err)
		}
		visit(e)
	}
	return nil
}

// ErasableRefusals calls visit for the quarantined messages of a subject. A message belongs to
// the subject if its event does, if it is unreadable and names the id, or if it has the
// identity of an event of the subject.
func (l Tables) ErasableRefusals(ctx context.Context, s ledger.Subject, tenant string, visit func(ledger.Refusal)) error {
	params := parametersOf(s, tenant)
	params["code"], params["subject_rules"] = chsql.Text(schema.CodeIDConflict), chsql.Number(ledger.SubjectRules)
	type place struct {
		incarnation uuid.UUID
		sequence    uint64
	}
	conflicts := make(map[place]bool)
	for row := range l.sql.Rows(ctx, "erasable_conflicts", params) {
		var at place
		if err := row.Scan(&at.incarnation, &at.sequence); err != nil {
			return fmt.Errorf("find refused events: %w", err)
		}
		conflicts[at] = true
	}
	return read.Of(l.ledger).Refusals(ctx, read.RefusalFilter{}, func(r ledger.Refusal) error {
		mine := tenant == "" || r.Tenant == tenant
		if conflicts[place{r.Incarnation, r.StreamSeq}] || mine && s.CoversRefused(r) {
			visit(r)
		}
		return nil
	})
}

// ErasureRecords calls visit for the records that erasures in the tables name at sequences of any
// stream. Of each record only stream, sequence and leaf are set.
func (l Tables) ErasureRecords(ctx context.Context, sequences []uint64, visit func(tenant string, r schema.ErasedRecord)) error {
	for part := range slices.Chunk(sequences, chsql.MostValues) {
		for row := range l.sql.Rows(ctx, "erasure_records", chsql.Params{"sequences": chsql.Numbers(part)}) {
			var tenant string
			var sequence uint64
			var r schema.ErasedRecord
			if err := row.Scan(&tenant, &r.Stream, &sequence, &r.Leaf); err != nil {
				return fmt.Errorf("read the facts of erasures: %w", err)
			}
			r.Sequence = int64(sequence)
			visit(tenant, r)
		}
	}
	return nil
}

// ErasureSubjects calls visit for every erasure in the tables, with its tenant and its subject as the
// fact names it, the oldest first.
func (l Tables) ErasureSubjects(ctx context.Context, visit func(tenant, erasureID, subject string, at time.Time)) error {
	for row := range l.sql.Rows(ctx, "erasure_subjects", nil) {
		var tenant, id, subject string
		var at time.Time
		if err := row.Scan(&tenant, &id, &subject, &at); err != nil {
			return fmt.Errorf("read the facts of erasures: %w", err)
		}
		visit(tenant, id, subject, at)
	}
	return nil
}

func parametersOf(s ledger.Subject, tenant string) chsql.Params {
	return chsql.Params{"kind": chsql.Text(s.Kind), "id": chsql.Text(s.ID), "tenant": chsql.Text(tenant), "kept": chsql.Texts(ledger.KeptTypes), "item_types": chsql.Text(ledger.ItemTypes)}
}

// Erase removes the rows of messages of one stream from every table, except the leaves of the
// log. It also removes the digests of their ranges and the counts of their rows from commits.
// The call returns once the rows are gone from the parts of the tables; the server keeps the
// files of the parts that these replaced for eight minutes more.
//
// The stream must not have these messages any more, or a projector that recovers would write
// them again. the table events is last. An interrupted Erase can be repeated, since its
// messages are still found by their events. The sequences are sorted.
func (l Tables) Erase(ctx context.Context, incarnation uuid.UUID, sequences []uint64) error {
	if len(sequences) == 0 {
		return nil
	}
	tables := []string{"reintroductions"}
	for _, table := range ledger.Tables() {
		if table != "events" && table != "log_hashes" {
			tables = append(tables, table)
		}
	}
	for _, table := range tables {
		if err := l.eraseRows(ctx, table, incarnation, sequences); err != nil {
			return err
		}
	}
	if err := l.eraseDigests(ctx, incarnation, sequences); err != nil {
		return err
	}
	return l.eraseRows(ctx, "events", incarnation, sequences)
}

func (l Tables) eraseRows(ctx context.Context, table string, incarnation uuid.UUID, sequences []uint64) error {
	for part := range slices.Chunk(sequences, chsql.MostValues) {
		params := chsql.Params{"table": chsql.Text(table), "incarnation": chsql.UUID(incarnation), "sequences": chsql.Numbers(part)}
		var n uint64
		if err := l.sql.Row(ctx, "erase_count", params).Scan(&n); err != nil {
			return fmt.Errorf("look for rows of %s: %w", table, err)
		}
		if n == 0 {
			continue // a mutation would look at every part
		}
		if err := l.sql.Change(ctx, "erase_rows", params); err != nil {
			return fmt.Errorf("erase rows of %s: %w", table, err)
		}
	}
	return nil
}

// eraseDigests removes digests from the commits of sequences: the content of few messages can
// be guessed from a digest. The counts become the counts of the remaining rows. No table then
// seems to lack rows. The rows of all tables but events are gone already.
func (l Tables) eraseDigests(ctx context.Context, incarnation uuid.UUID, sequences []uint64) error {
	const page = 1000
	for before := sequences[len(sequences)-1] + 1; before > 0; {
		commits, err := l.ledger.CommitsBefore(ctx, incarnation, before, page)
		if err != nil || len(commits) == 0 {
			return err
		}
		oldest := commits[len(commits)-1].First
		more := len(commits) == page && oldest > sequences[0]
		commits = slices.DeleteFunc(commits, func(c ledger.Commit) bool {
			at, _ := slices.BinarySearch(sequences, c.First)
			return at == len(sequences) || sequences[at] > c.Last
		})
		if err := l.eraseDigestsOf(ctx, incarnation, commits, sequences); err != nil {
			return err
		}
		if !more {
			return nil
		}
		before = oldest
	}
	return nil
}

func (l Tables) eraseDigestsOf(ctx context.Context, incarnation uuid.UUID, commits []ledger.Commit, sequences []uint64) error {
	if len(commits) == 0 {
		return nil
	}
	held, err := l.ledger.Held(ctx, commits)
	if err != nil {
		return err
	}
	going, err := l.heldOf(ctx, incarnation, sequences)
	if err != nil {
		return err
	}
	tables := ledger.Tables()
	firsts := make([]uint64, len(commits))
	counts := make([][]uint64, len(commits))
	for i, c := range commits {
		firsts[i] = c.First
		row := make([]uint64, len(tables))
		for j, table := range tables {
			row[j] = min(c.Rows[table], held[i][table])
			if table == "events" {
				row[j] = min(c.Rows[table], held[i][table]-within(going, c.Range))
			}
		}
		counts[i] = row
	}
	err = l.sql.Change(ctx, "erase_commits", chsql.Params{
		"incarnation": chsql.UUID(incarnation), "firsts": chsql.Numbers(firsts), "tables": chsql.Texts(tables), "counts": chsql.Lists(counts),
	})
	if err != nil {
		return fmt.Errorf("erase the digests of commits: %w", err)
	}
	return nil
}

// heldOf returns which of the sequences have a row in events, sorted.
func (l Tables) heldOf(ctx context.Context, incarnation uuid.UUID, sequences []uint64) ([]uint64, error) {
	var all []uint64
	for part := range slices.Chunk(sequences, chsql.MostValues) {
		var held []uint64
		params := chsql.Params{"incarnation": chsql.UUID(incarnation), "sequences": chsql.Numbers(part)}
		if err := l.sql.Row(ctx, "erase_held", params).Scan(&held); err != nil {
			return nil, fmt.Errorf("look for rows of events: %w", err)
		}
		all = append(all, held...)
	}
	slices.Sort(all)
	return all, nil
}

// within counts the sorted sequences that are in a range.
func within(sequences []uint64, r ledger.Range) uint64 {
	from, _ := slices.BinarySearch(sequences, r.First)
	to, found := slices.BinarySearch(sequences, r.Last)
	if found {
		to++
	}
	return uint64(to - from)
}
