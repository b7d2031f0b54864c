package ledger

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
	"github.com/google/uuid"
)

// Held returns how many messages of each commit have a row, by table, for the
// tables that the commits name. A message that has its row twice counts once.
// The commits are of one stream, newest first, and do not overlap.
func (l *Ledger) Held(ctx context.Context, commits []Commit) ([]map[string]uint64, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	oldest, newest := commits[len(commits)-1], commits[0]
	at := make(map[uint64]int, len(commits)) // by first sequence
	firsts := make([]uint64, 0, len(commits))
	tables := make(map[string]bool)
	held := make([]map[string]uint64, len(commits))
	for i, c := range slices.Backward(commits) {
		at[c.First], held[i] = i, make(map[string]uint64)
		firsts = append(firsts, c.First)
		for table := range c.Rows {
			tables[table] = true
		}
	}
	if len(tables) == 0 {
		return held, nil
	}
	params := chsql.Params{
		"tables": chsql.Tables(slices.Sorted(maps.Keys(tables))), "incarnation": chsql.UUID(oldest.Incarnation), "first": chsql.Number(oldest.First),
		"last": chsql.Number(newest.Last), "firsts": chsql.Numbers(firsts), "from": chsql.Time(oldest.RecordedAt),
	}
	for row := range l.sql.Rows(ctx, "held", params) {
		var table string
		var first, n uint64
		if err := row.Scan(&table, &first, &n); err != nil {
			return nil, fmt.Errorf("count the rows of commits: %w", err)
		}
		held[at[first]][table] = n
	}
	return held, nil
}

// A Lack is a table that does not hold exactly the rows of a batch.
type Lack struct {
	Table     string
	Sequences []uint64   // of the messages whose row it lacks
	Whole     bool       // the table lacks all rows
	Strange   []Position // where it has a row that is not of the batch
}

// Placed is a row with the place of its message, and with its values that do not follow from
// the message; empty in most tables.
type Placed struct {
	Position
	Says string
}

// Lacking returns the tables whose rows differ from the rows of b, in the order of writing. A
// table differs if it lacks rows of b, or holds others in its range or from the sequence first
// on. No row that was recorded before the month of since is looked at.
func (l *Ledger) Lacking(ctx context.Context, b *Batch, first uint64, since time.Time) ([]Lack, error) {
	held, err := heldPlaces(ctx, l.sql, b.Range, first, since)
	if err != nil {
		return nil, fmt.Errorf("look at the rows of a batch: %w", err)
	}
	var lacking []Lack
	for _, t := range b.tables() {
		if lack, lacks := LackOf(t.Table, placedOf(t, b.Incarnation), held[t.Table]); lacks {
			lacking = append(lacking, lack)
		}
	}
	return lacking, nil
}

// heldPlaces returns the places of messages with a row in the range r, from the sequence first on, by table.
func heldPlaces(ctx context.Context, sql chsql.DB, r Range, first uint64, since time.Time) (map[string][]Placed, error) {
	plain := slices.DeleteFunc(Tables(), func(table string) bool { return sayings[table] != nil })
	params := chsql.Params{
		"tables": chsql.Tables(plain), "incarnation": chsql.UUID(r.Incarnation), "first": chsql.Number(first), "last": chsql.Number(r.Last), "from": chsql.Time(since),
	}
	held := make(map[string][]Placed)
	for row := range sql.Rows(ctx, "held_places", params) {
		var table string
		var seqs []uint64
		var times []int64
		var says []string
		if err := row.Scan(&table, &seqs, &times, &says); err != nil {
			return nil, err
		}
		places := make([]Placed, len(seqs))
		for i, seq := range seqs {
			places[i] = Placed{Position{Incarnation: r.Incarnation, StreamSeq: seq, RecordedAt: time.Unix(0, times[i]).UTC()}, says[i]}
		}
		held[table] = places
	}
	return held, nil
}

// sayings are the values of rows that depend on more than their messages: on other messages,
// and on the state at the time of derivation. The statement held_places returns the same values of
// the rows in a table.
var sayings = map[string]func(b *column.Block) []string{
	"duplicates": func(b *column.Block) []string {
		firsts := b.Numbers("first_seq")
		says := make([]string, len(firsts))
		for i, id := range b.IDs("first_incarnation") {
			says[i] = id.String() + ":" + strconv.FormatUint(firsts[i], 10)
		}
		return says
	},
	"quarantine": func(b *column.Block) []string {
		codes, reasons, headers, data := b.Texts("code"), b.Texts("reason"), b.Texts("header"), b.Texts("data")
		says := make([]string, len(codes))
		for i := range codes {
			sum := sha256.Sum256([]byte(codes[i] + "\x00" + reasons[i] + "\x00" + headers[i] + "\x00" + data[i]))
			says[i] = fmt.Sprintf("%X", sum)
		}
		return says
	},
	"log_hashes": func(b *column.Block) []string {
		indexes, hashes, above := b.Numbers("log_index"), b.Texts("hash"), b.Texts("above")
		says := make([]string, len(indexes))
		for i := range indexes {
			says[i] = strconv.FormatUint(indexes[i], 10) + ":" + hashes[i] + above[i]
		}
		return says
	},
}

// LackOf compares the rows of a table in the range of a batch with the rows of the batch. It
// reports false if they are equal. A row with other content is strange, and the table lacks the
// right row once the strange row is evicted.
func LackOf(table string, want, held []Placed) (lack Lack, lacks bool) {
	has, wanted := make(map[uint64]bool, len(held)), make(map[uint64]Placed, len(want))
	for _, at := range want {
		wanted[at.StreamSeq] = at
	}
	lack.Table = table
	for _, at := range held {
		is, ok := wanted[at.StreamSeq]
		there := ok && is.RecordedAt.Equal(at.RecordedAt)
		if there {
			has[at.StreamSeq] = true
		}
		if !there || is.Says != at.Says {
			lack.Strange = append(lack.Strange, at.Position)
		}
	}
	for _, at := range want {
		if !has[at.StreamSeq] {
			lack.Sequences = append(lack.Sequences, at.StreamSeq)
		}
	}
	lack.Whole = len(want) > 0 && len(lack.Sequences) == len(want)
	return lack, len(lack.Strange)+len(lack.Sequences) > 0
}

// Evict removes from every table the rows at the places of Strange. The call returns once no
// query sees the rows. Rows of other messages at the same sequence go as well.
func (l *Ledger) Evict(ctx context.Context, r Range, lacking []Lack) error {
	for _, lack := range lacking {
		if len(lack.Strange) == 0 {
			continue
		}
		sequences := make([]uint64, len(lack.Strange))
		for i, at := range lack.Strange {
			sequences[i] = at.StreamSeq
		}
		params := chsql.Params{"table": chsql.Text(lack.Table), "incarnation": chsql.UUID(r.Incarnation), "sequences": chsql.Numbers(sequences)}
		if err := l.sql.Exec(ctx, "evict", params); err != nil {
			return fmt.Errorf("evict rows of %s: %w", lack.Table, err)
		}
	}
	return nil
}

// LastHeld returns the highest sequence after r of a message with a row, or 0. r is the last
// commit of its stream.
func (l *Ledger) LastHeld(ctx context.Context, r Range) (last uint64, err error) {
	params := chsql.Params{"tables": chsql.Tables(Tables()), "incarnation": chsql.UUID(r.Incarnation), "after": chsql.Number(r.Last), "from": chsql.Time(r.RecordedAt)}
	if err := l.sql.Row(ctx, "last_held", params).Scan(&last); err != nil {
		return 0, fmt.Errorf("look for rows beyond the last commit: %w", err)
	}
	return last, nil
}

// Places returns the places of messages with a row, by table.
func (b *Batch) Places() map[string][]Position {
	places := make(map[string][]Position)
	for _, t := range b.tables() {
		if t.Rows > 0 {
			places[t.Table] = placesOf(t.Block, b.Incarnation)
		}
	}
	return places
}

func placesOf(b *column.Block, incarnation uuid.UUID) []Position {
	seqs, times := b.Numbers("stream_seq"), b.Numbers("recorded_at")
	places := make([]Position, len(seqs))
	for i, seq := range seqs {
		places[i] = Position{Incarnation: incarnation, StreamSeq: seq, RecordedAt: time.Unix(0, int64(times[i])).UTC()}
	}
	return places
}

func placedOf(b column.Table, incarnation uuid.UUID) []Placed {
	places := placesOf(b.Block, incarnation)
	placed := make([]Placed, len(places))
	for i, at := range places {
		placed[i].Position = at
	}
	if says := sayings[b.Table]; says != nil && b.Rows > 0 {
		for i, s := range says(b.Block) {
			placed[i].Says = s
		}
	}
	return placed
}
