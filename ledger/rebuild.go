package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/migrate"
)

// Beside is a second set of the tables that are derived from the streams, in a
// database of its own, <database>_rebuild, on the same server. A projector fills
// it like any other; then it takes the place of the live set. Views and
// permissions go by name and hold for whichever tables have the names.
//
// The database has a table rebuild_state, whose newest row says how far the set
// has come, so that an interrupted rebuild is gone on with, or dropped:
//
//	no row     being made                      dropped by the next rebuild
//	carried    complete up to its last commit  gone on with by the next rebuild
//	swapping   taking the live set's place     finished by whoever comes first
//	swapped    holds the replaced tables       dropped by whoever comes first
//
// ClickHouse exchanges one pair of tables at a time. A table is told from its
// namesake by its UUID, so that a swap is gone on with wherever it was cut off;
// and each who works on it gives a table a new name before its exchange, so that
// one who was stopped in the middle and wakes finds nothing under the name that it
// knew, and does not exchange back.
type Beside struct {
	// Ledger is the set, for a projector to fill. Nil until Open or Make.
	Ledger *Ledger
	live   *Ledger
	name   string // of the database
	own    string // the live set's
}

// Beside returns what may stand beside the ledger. It asks only for a name.
func (l *Ledger) Beside(ctx context.Context) (*Beside, error) {
	b := &Beside{live: l}
	if err := l.conn.QueryRow(ctx, statement("current_database")).Scan(&b.own); err != nil {
		return nil, fmt.Errorf("ask for the database: %w", err)
	}
	b.name = b.own + "_rebuild"
	return b, nil
}

// Database returns the name of the database that the set is in.
func (b *Beside) Database() string { return b.name }

// besideState is the newest row of rebuild_state.
type besideState struct {
	name       string
	ids        map[string]uuid.UUID // carried: the streams; swapping: the rebuilt tables
	migrations uint64               // carried: how many the set's columns are of
}

const (
	stateCarried  = "carried"
	stateSwapping = "swapping"
	stateSwapped  = "swapped"
)

func (b *Beside) with(ctx context.Context, more clickhouse.Parameters) context.Context {
	p := clickhouse.Parameters{"beside": b.name, "database": b.own}
	for name, value := range more {
		p[name] = value
	}
	return b.live.with(ctx, p)
}

func (b *Beside) exec(ctx context.Context, name string, more clickhouse.Parameters) error {
	return b.live.conn.Exec(b.with(ctx, more), statement(name))
}

// Exists reports whether there is a set, completed or not.
func (b *Beside) Exists(ctx context.Context) (bool, error) {
	var tables uint64
	if err := b.live.conn.QueryRow(b.with(ctx, nil), statement("beside_exists")).Scan(&tables); err != nil {
		return false, fmt.Errorf("look for a rebuilt set: %w", err)
	}
	return tables > 0, nil
}

// state reads how far the set has come; the name is empty where there is none,
// or one that was not completed.
func (b *Beside) state(ctx context.Context) (s besideState, err error) {
	if there, err := b.Exists(ctx); err != nil || !there {
		return s, err
	}
	rows, err := b.live.conn.Query(b.with(ctx, nil), statement("beside_state"))
	if gone(err) {
		return s, nil // dropped meanwhile
	}
	if err != nil {
		return s, fmt.Errorf("read the state of the rebuilt set: %w", err)
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&s.name, &s.ids, &s.migrations)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		return s, fmt.Errorf("read the state of the rebuilt set: %w", err)
	}
	return s, nil
}

func (b *Beside) mark(ctx context.Context, s besideState) error {
	var names, uuids []string
	for name, id := range s.ids {
		names, uuids = append(names, name), append(uuids, id.String())
	}
	err := b.exec(ctx, "beside_mark", clickhouse.Parameters{
		"state": s.name, "names": textParameter(names), "uuids": textParameter(uuids), "migrations": unsigned(s.migrations),
	})
	if err != nil {
		return fmt.Errorf("note the state of the rebuilt set: %w", err)
	}
	return nil
}

// Open connects to a set of these streams that an earlier rebuild has left, and
// reports whether there is one that can be gone on with. A swap that was cut off
// must have been finished; see FinishSwap.
func (b *Beside) Open(ctx context.Context, starts []Start) (bool, error) {
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

func (b *Beside) connect(ctx context.Context) error {
	options := *b.live.options
	options.Auth.Database = b.name
	conn, err := clickhouse.Open(&options)
	if err != nil {
		return fmt.Errorf("open the rebuilt set: %w", err)
	}
	if err := conn.Ping(ctx); err != nil {
		conn.Close()
		return fmt.Errorf("connect to the rebuilt set: %w", err)
	}
	b.Ledger = &Ledger{conn: conn, sender: newSender(&options), options: &options}
	return nil
}

// Close gives the connections back. The set stays.
func (b *Beside) Close() error {
	if b.Ledger == nil {
		return nil
	}
	err := b.Ledger.Close()
	b.Ledger = nil
	return err
}

// Drop removes the set.
func (b *Beside) Drop(ctx context.Context) error {
	if err := b.Close(); err != nil {
		return err
	}
	if err := b.exec(ctx, "beside_drop", nil); err != nil {
		return fmt.Errorf("drop the rebuilt set: %w", err)
	}
	return nil
}

// Start is where a stream begins: what it still has.
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

// Make creates the set anew, and copies into it what no stream brings again: the
// rows of other streams than these, and those of earlier sequences than they begin
// with. What is copied of a stream counts as one commit, so that a projector goes
// on behind it. Whatever it had begun when it fails is dropped by the next Make.
func (b *Beside) Make(ctx context.Context, starts []Start) error {
	if err := b.Drop(ctx); err != nil {
		return err
	}
	if err := b.exec(ctx, "beside_create_database", nil); err != nil {
		return fmt.Errorf("create the database %s: %w", b.name, err)
	}
	done, err := b.live.migrated(ctx)
	if err != nil {
		return err
	}
	for _, s := range migrate.Split(statement("beside_create")) {
		if err := b.live.conn.Exec(b.with(ctx, nil), s); err != nil {
			return fmt.Errorf("create the tables of %s: %w", b.name, err)
		}
	}
	if err := b.carry(ctx, starts); err != nil {
		return fmt.Errorf("carry over what the streams no longer have: %w", err)
	}
	if err := b.mark(ctx, besideState{stateCarried, idsOf(starts), uint64(len(done))}); err != nil {
		return err
	}
	return b.connect(ctx)
}

func (b *Beside) carry(ctx context.Context, starts []Start) error {
	var incarnations []string
	var firsts []uint64
	for _, s := range starts {
		incarnations, firsts = append(incarnations, s.Incarnation.String()), append(firsts, s.First)
	}
	// Blocks that are equal by chance are two blocks; a backlog of years is many months.
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 0, "max_partitions_per_insert_block": 0, "do_not_merge_across_partitions_select_final": 1,
	}))
	params := clickhouse.Parameters{
		"incarnations": textParameter(incarnations), "firsts": arrayParameter(firsts), "rules": unsigned(uint64(NewestRules)),
	}
	for _, t := range new(Batch).tables() {
		params["table"] = t.table
		if err := b.exec(ctx, "beside_carry", params); err != nil {
			return fmt.Errorf("%s: %w", t.table, err)
		}
	}
	if err := b.exec(ctx, "beside_carry_commits", params); err != nil {
		return fmt.Errorf("commits: %w", err)
	}
	for _, s := range starts {
		if s.First <= 1 {
			continue
		}
		if err := b.carryRange(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// carryRange writes the one commit of what was copied of a stream.
func (b *Beside) carryRange(ctx context.Context, s Start) error {
	var names []string
	var counts []uint64
	var messages uint64
	for _, t := range new(Batch).tables() {
		var rows uint64
		params := clickhouse.Parameters{"table": t.table, "incarnation": s.Incarnation.String()}
		if err := b.live.conn.QueryRow(b.with(ctx, params), statement("beside_count")).Scan(&rows); err != nil {
			return fmt.Errorf("count %s: %w", t.table, err)
		}
		if rows > 0 {
			names, counts = append(names, t.table), append(counts, rows)
		}
		if slices.Contains([]string{"events", "duplicates", "quarantine"}, t.table) {
			messages += rows
		}
	}
	log, err := b.live.LogAt(ctx, s.Incarnation, s.First-1)
	if err != nil {
		return err
	}
	params := log.parameters()
	params["incarnation"], params["last"], params["messages"] = s.Incarnation.String(), unsigned(s.First-1), unsigned(messages)
	params["names"], params["counts"], params["rules"] = textParameter(names), arrayParameter(counts), unsigned(uint64(NewestRules))
	return b.exec(ctx, "beside_carry_range", params)
}

// textParameter encodes names and ids, which hold no quote.
func textParameter(values []string) string {
	text := []byte{'['}
	for i, v := range values {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, '\''), v...), '\'')
	}
	return string(append(text, ']'))
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
	Incarnation uuid.UUID `json:"first_incarnation"` // where the first of them stands
	StreamSeq   uint64    `json:"first_sequence"`
}

// Compared is the outcome of a comparison.
type Compared struct {
	Tables      int
	Rows        uint64 // in all live tables
	Differences []TableDifference
	Took        time.Duration
}

// Compare holds the set against the live one: the number of rows and a digest over
// all columns that no order of rows changes, table by table, with what came twice
// collapsed. Both must be committed up to the end of each stretch. With others the
// rows of streams without a stretch are compared, too. The commits themselves are
// not: the two sets may have been cut into other batches. The digest is of 128 bits
// and finds what went wrong; it is no defence against someone who writes the tables
// and knows it, as the transparency log is.
func (b *Beside) Compare(ctx context.Context, stretches []Stretch, others bool) (c Compared, err error) {
	began := time.Now()
	var incarnations []string
	var after, through []uint64
	for _, s := range stretches {
		incarnations, after, through = append(incarnations, s.Incarnation.String()), append(after, s.After), append(through, s.Through)
	}
	params := clickhouse.Parameters{
		"incarnations": textParameter(incarnations), "after": arrayParameter(after), "through": arrayParameter(through),
		"others": strconv.FormatBool(others),
	}
	for _, t := range new(Batch).tables() {
		params["table"] = t.table
		var rows [2]uint64
		var digests [2]string
		for i, l := range []*Ledger{b.live, b.Ledger} {
			if err := l.conn.QueryRow(l.with(ctx, params), statement("beside_digest")).Scan(&rows[i], &digests[i]); err != nil {
				return c, fmt.Errorf("compare %s: %w", t.table, err)
			}
		}
		c.Tables++
		c.Rows += rows[0]
		if rows[0] == rows[1] && digests[0] == digests[1] {
			continue
		}
		d := TableDifference{Table: t.table, LiveRows: rows[0], RebuiltRows: rows[1]}
		if err := b.live.conn.QueryRow(b.with(ctx, params), statement("beside_difference")).Scan(&d.Differing, &d.Incarnation, &d.StreamSeq); err != nil {
			return c, fmt.Errorf("look for the difference in %s: %w", t.table, err)
		}
		c.Differences = append(c.Differences, d)
	}
	c.Took = time.Since(began)
	return c, nil
}
