package shadow

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/translog"
)

// Beside is a second set of the tables that are derived from the streams. The set is in the
// database <database>_rebuild on the same server. A projector fills it like any other; then it
// takes the place of the live set. Views and permissions refer to names, and hold for the
// tables with these names.
//
// The newest row of its table rebuild_state is the progress of the set. An interrupted rebuild
// is continued or dropped:
//
//	no row     being made                      dropped by the next rebuild
//	carried    complete up to its last commit  gone on with by the next rebuild
//	restoring  filled from a backup            gone on with by the next restore; no other writer
//	                                           changes the live set before
//	swapping   taking the live set's place     finished by whoever comes first
//	swapped    holds the replaced tables       dropped by whoever comes first
//
// ClickHouse exchanges one pair of tables at a time. The UUID of a table tells it from a table
// of the same name. An interrupted swap can be continued at any point; each process gives a
// table a new name before its exchange. A process that was stopped and wakes finds no table
// under the old name, and exchanges nothing back.
type Set struct {
	// Ledger is the set, for a projector to fill. Nil until Open or Make.
	Ledger *ledger.Ledger
	live   Live
	source Live   // the tables that have the streams now: live, or those of another server
	name   string // of the database
	own    string // the live set's
}

// Beside returns the second set of tables of the ledger. The call asks only for a name.
func (l Live) Beside(ctx context.Context) (*Set, error) {
	b := &Set{live: l, source: l}
	if err := l.sql.Row(ctx, "current_database", nil).Scan(&b.own); err != nil {
		return nil, fmt.Errorf("ask for the database: %w", err)
	}
	b.name = b.own + "_rebuild"
	return b, nil
}

// BesideFor returns the second set of tables for streams that another ledger has. The set is filled and
// compared as for a rebuild, and then adopted; see [Live.Adopt].
func (l Live) BesideFor(ctx context.Context, source *ledger.Ledger) (*Set, error) {
	b, err := l.Beside(ctx)
	if err == nil {
		b.source = Of(source)
	}
	return b, err
}

// fromElsewhere reports whether another server has the streams of a set now.
func fromElsewhere(b *Set) bool { return b.source.ledger != b.live.ledger }

// Database returns the name of the database that the set is in.
func (b *Set) Database() string { return b.name }

// setState is the newest row of rebuild_state.
type setState struct {
	name       string
	ids        map[string]uuid.UUID // carried: the streams; restoring: the backup, by its name; swapping: the rebuilt tables
	migrations uint64               // carried, restoring: how many the set's columns are of
}

const (
	stateCarried   = "carried"
	stateRestoring = "restoring"
	stateSwapping  = "swapping"
	stateSwapped   = "swapped"
)

func (b *Set) params(more chsql.Params) chsql.Params {
	p := chsql.Params{"rebuilt": chsql.Text(b.name), "database": chsql.Text(b.own)}
	maps.Copy(p, more)
	return p
}

func (b *Set) exec(ctx context.Context, name string, more chsql.Params) error {
	return b.live.sql.Exec(ctx, name, b.params(more))
}

// Exists reports whether there is a set, completed or not.
func (b *Set) Exists(ctx context.Context) (bool, error) {
	var tables uint64
	if err := b.live.sql.Row(ctx, "exists", b.params(nil)).Scan(&tables); err != nil {
		return false, fmt.Errorf("look for a rebuilt set: %w", err)
	}
	return tables > 0, nil
}

// state reads how far the set has come; the name is empty if there is none, or an incomplete
// one.
func (b *Set) state(ctx context.Context) (s setState, err error) {
	if there, err := b.Exists(ctx); err != nil || !there {
		return s, err
	}
	_, err = b.live.sql.First(ctx, "state", b.params(nil), &s.name, &s.ids, &s.migrations)
	if err != nil && !ledger.NoTable(err) { // a table that was dropped meanwhile has no state
		return s, fmt.Errorf("read the state of the rebuilt set: %w", err)
	}
	return s, nil
}

func (b *Set) mark(ctx context.Context, s setState) error {
	var names, uuids []string
	for name, id := range s.ids {
		names, uuids = append(names, name), append(uuids, id.String())
	}
	err := b.exec(ctx, "mark", chsql.Params{
		"state": chsql.Text(s.name), "names": chsql.Texts(names), "uuids": chsql.Texts(uuids), "migrations": chsql.Number(s.migrations),
	})
	if err != nil {
		return fmt.Errorf("note the state of the rebuilt set: %w", err)
	}
	return nil
}

// Open connects to the set that an earlier rebuild of these streams left. It reports whether
// the set can be continued. A swap that was cut off must have been finished; see FinishSwap.
func (b *Set) Open(ctx context.Context, starts []Start) (bool, error) {
	s, err := b.state(ctx)
	if err != nil || s.name != stateCarried || !maps.Equal(s.ids, idsOf(starts)) {
		return false, err
	}
	done, err := b.live.migrated(ctx)
	if err != nil || uint64(len(done)) != s.migrations {
		return false, err // its columns are of another version
	}
	return true, b.connect(ctx)
}

func (b *Set) connect(ctx context.Context) error {
	l, err := b.live.ledger.OpenDatabase(ctx, b.name)
	if err != nil {
		return fmt.Errorf("open the rebuilt set: %w", err)
	}
	b.Ledger = l
	return nil
}

// Close gives the connections back. The set stays.
func (b *Set) Close() error {
	if b.Ledger == nil {
		return nil
	}
	err := b.Ledger.Close()
	b.Ledger = nil
	return err
}

// Drop removes the set.
func (b *Set) Drop(ctx context.Context) error {
	if err := b.Close(); err != nil {
		return err
	}
	if err := b.live.sql.Change(ctx, "drop", b.params(nil)); err != nil {
		return fmt.Errorf("drop the rebuilt set: %w", err)
	}
	return nil
}

// Start is the first sequence that a stream still has.
type Start struct {
	Stream      string    `json:"stream"` // its name
	Incarnation uuid.UUID `json:"incarnation"`
	First       uint64    `json:"first_sequence"` // that it still has
}

func idsOf(starts []Start) map[string]uuid.UUID {
	ids := make(map[string]uuid.UUID, len(starts))
	for _, s := range starts {
		ids[s.Stream] = s.Incarnation
	}
	return ids
}

// Make creates the set anew. It copies the rows that no stream brings again: rows of other
// streams, and rows of sequences before the start of a stream. The copied rows of a stream
// count as one commit. A projector continues after it. The next Make drops the tables of a
// failed Make.
func (b *Set) Make(ctx context.Context, starts []Start) error {
	if err := b.Drop(ctx); err != nil {
		return err
	}
	if err := b.exec(ctx, "create_database", nil); err != nil {
		return fmt.Errorf("create the database %s: %w", b.name, err)
	}
	done, err := b.live.migrated(ctx)
	if err != nil {
		return err
	}
	if err := b.exec(ctx, "create_state", nil); err != nil {
		return fmt.Errorf("create the tables of %s: %w", b.name, err)
	}
	for _, s := range migrate.Split(b.live.sql.Text("create")) {
		if err := b.live.sql.Conn.Exec(clickhouse.Context(ctx, clickhouse.WithParameters(b.params(nil).Encoded())), s); err != nil {
			return fmt.Errorf("create the tables of %s: %w", b.name, err)
		}
	}
	if err := b.carry(ctx, starts); err != nil {
		return fmt.Errorf("carry over the rows that left the streams: %w", err)
	}
	if err := b.mark(ctx, setState{stateCarried, idsOf(starts), uint64(len(done))}); err != nil {
		return err
	}
	return b.connect(ctx)
}

func (b *Set) carry(ctx context.Context, starts []Start) error {
	var incarnations []uuid.UUID
	var firsts []uint64
	for _, s := range starts {
		incarnations, firsts = append(incarnations, s.Incarnation), append(firsts, s.First)
	}
	// Blocks that are equal by chance are two blocks; a backlog of years is many months.
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 0, "max_partitions_per_insert_block": 0, "do_not_merge_across_partitions_select_final": 1,
	}))
	params := chsql.Params{
		"incarnations": chsql.UUIDs(incarnations), "firsts": chsql.Numbers(firsts), "rules": chsql.Number(ledger.NewestRules),
	}
	carry := carryOwn
	if fromElsewhere(b) {
		carry = carryOver
	}
	if err := carry(ctx, b, params); err != nil {
		return err
	}
	for _, s := range starts {
		if s.First <= 1 {
			continue
		}
		_, committed, err := b.source.ledger.LastCommit(ctx, s.Incarnation)
		if err != nil {
			return err
		}
		if !committed {
			continue // nothing was copied: the projector decides where to begin
		}
		if err := b.carryRange(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// carryOwn copies the rows of the live set that no stream brings again.
func carryOwn(ctx context.Context, b *Set, params chsql.Params) error {
	filled, err := b.live.filled(ctx)
	if err != nil {
		return err
	}
	for _, table := range filled {
		params["table"] = chsql.Text(table)
		if err := b.exec(ctx, "carry", params); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	if err := b.exec(ctx, "carry_commits", params); err != nil {
		return fmt.Errorf("commits: %w", err)
	}
	if err := b.exec(ctx, "carry_retold", params); err != nil {
		return fmt.Errorf("retold: %w", err)
	}
	return nil
}

// filled returns the tables with rows among those that are derived from the streams, in the order of writing.
func (l Live) filled(ctx context.Context) ([]string, error) {
	var names []string
	if err := l.sql.Row(ctx, "filled", nil).Scan(&names); err != nil {
		return nil, fmt.Errorf("list the tables with rows: %w", err)
	}
	return slices.DeleteFunc(ledger.Tables(), func(table string) bool { return !slices.Contains(names, table) }), nil
}

// carryRange writes the commit of the copied rows of a stream.
func (b *Set) carryRange(ctx context.Context, s Start) error {
	var names []string
	var counts []uint64
	var messages uint64
	of := chsql.Params{"tables": chsql.Tables(ledger.Tables()), "incarnation": chsql.UUID(s.Incarnation)}
	for row := range b.live.sql.Rows(ctx, "count", b.params(of)) {
		var table string
		var rows uint64
		if err := row.Scan(&table, &rows); err != nil {
			return fmt.Errorf("count the copied rows: %w", err)
		}
		names, counts = append(names, table), append(counts, rows)
		if slices.Contains([]string{"events", "duplicates", "quarantine"}, table) {
			messages += rows
		}
	}
	log, err := translog.Of(b.source.ledger).LogAt(ctx, s.Incarnation, s.First-1)
	if err != nil {
		return err
	}
	params := logParameters(log)
	params["incarnation"], params["last"], params["messages"] = chsql.UUID(s.Incarnation), chsql.Number(s.First-1), chsql.Number(messages)
	params["names"], params["counts"], params["rules"] = chsql.Texts(names), chsql.Numbers(counts), chsql.Number(ledger.NewestRules)
	return b.source.sql.Copy(ctx, "carry_range", params, b.live.sql, "insert_range", b.params(nil))
}

// Stretch is a part of a stream that two sets are compared in: the sequences
// above After, up to Through.
type Stretch struct {
	Incarnation    uuid.UUID
	After, Through uint64
}

// A TableDifference is a table that is not the same in both sets.
type TableDifference struct {
	Table       string    `json:"table"`
	LiveRows    uint64    `json:"live_rows"`
	RebuiltRows uint64    `json:"rebuilt_rows"`
	Differing   uint64    `json:"differing_rows"`    // of either set, without their like in the other
	Incarnation uuid.UUID `json:"first_incarnation"` // the place of the first of them
	StreamSeq   uint64    `json:"first_sequence"`
}

// Compared is the outcome of a comparison.
type Compared struct {
	Tables      int
	Rows        uint64 // in all live tables
	Differences []TableDifference
	Took        time.Duration
}

// Compare compares the set with the live one, table by table: the number of rows, and a digest
// over all columns. The order of rows does not matter, and repeated rows collapse. Both must be
// committed up to the end of each stretch. With others the rows of streams without a stretch
// are compared, too. The commits themselves are not: the two sets may have been cut into other
// batches. The digest has 128 bits and finds errors; the defence against a hostile writer of
// the tables is the transparency log.
func (b *Set) Compare(ctx context.Context, stretches []Stretch, others bool) (c Compared, err error) {
	began := time.Now()
	var incarnations []uuid.UUID
	var after, through []uint64
	for _, s := range stretches {
		incarnations, after, through = append(incarnations, s.Incarnation), append(after, s.After), append(through, s.Through)
	}
	params := chsql.Params{
		"incarnations": chsql.UUIDs(incarnations), "after": chsql.Numbers(after), "through": chsql.Numbers(through),
		"others": chsql.Bool(others),
	}
	sides := []Live{b.source, Of(b.Ledger)}
	var filled []string
	for _, l := range sides {
		tables, err := l.filled(ctx)
		if err != nil {
			return c, err
		}
		filled = append(filled, tables...)
	}
	for _, table := range ledger.Tables() {
		c.Tables++
		if !slices.Contains(filled, table) {
			continue
		}
		params["table"] = chsql.Text(table)
		var rows [2]uint64
		var digests [2]string
		for i, l := range sides {
			if err := l.sql.Row(ctx, "digest", params).Scan(&rows[i], &digests[i]); err != nil {
				return c, fmt.Errorf("compare %s: %w", table, err)
			}
		}
		c.Rows += rows[0]
		if rows[0] == rows[1] && digests[0] == digests[1] {
			continue
		}
		d := TableDifference{Table: table, LiveRows: rows[0], RebuiltRows: rows[1]}
		if fromElsewhere(b) { // no statement reads both servers
			c.Differences = append(c.Differences, d)
			continue
		}
		if err := b.live.sql.Row(ctx, "difference", b.params(params)).Scan(&d.Differing, &d.Incarnation, &d.StreamSeq); err != nil {
			return c, fmt.Errorf("look for the difference in %s: %w", table, err)
		}
		c.Differences = append(c.Differences, d)
	}
	c.Took = time.Since(began)
	return c, nil
}

// logParameters are the values of a commit about the log.
func logParameters(l ledger.Log) chsql.Params {
	return chsql.Params{
		"tree_size": chsql.Number(l.Tree.Size), "tree_root": chsql.Text(hex.EncodeToString(l.Root[:])),
		"tree_frontier": chsql.Text(hex.EncodeToString(l.Tree.FrontierBytes())),
	}
}
