package ledger

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"github.com/ctxledger/ctxledger/schema"
)

// migrated returns a ledger on a new database for the test.
func migrated(t *testing.T) *Ledger {
	t.Helper()
	return opened(t, Migrated.ClickHouse(t))
}

func opened(t *testing.T, s *embeddedtest.Servers) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// count returns a single number.
func count(t *testing.T, l *Ledger, sql string) uint64 {
	t.Helper()
	var n uint64
	if err := l.conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// counts returns the number of rows of every table that has any.
func counts(t *testing.T, l *Ledger, modifier string) map[string]uint64 {
	t.Helper()
	found := make(map[string]uint64)
	for _, table := range new(Batch).tables() {
		if n := count(t, l, "SELECT count() FROM "+table.Table+" "+modifier); n > 0 {
			found[table.Table] = n
		}
	}
	return found
}

var recordedAt = time.Date(2026, 11, 21, 8, 0, 0, 5, time.UTC)

// goldenBatch returns a batch with the golden event of every type, one duplicate and one refused
// message. first is the first sequence.
func goldenBatch(t *testing.T, incarnation uuid.UUID, first uint64) *Batch {
	t.Helper()
	b := &Batch{Range: Range{Incarnation: incarnation, First: first, RecordedAt: recordedAt, Digest: [32]byte{byte(first)}}}
	next := func() Position {
		p := Position{incarnation, first + b.Messages, recordedAt}
		b.Messages, b.Last = b.Messages+1, p.StreamSeq
		return p
	}
	for _, typ := range schema.Types() {
		e, err := schema.ParseStructured(schema.Golden(typ))
		if err != nil {
			t.Fatal(err)
		}
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		b.Add(e, fact, next())
	}
	e, err := schema.ParseStructured(schema.Golden(schema.Types()[0]))
	if err != nil {
		t.Fatal(err)
	}
	e.Type = "dev.ctxledger.context.invented.later.v1"
	b.Add(e, nil, next())
	b.AddDuplicate(e, e.Tenant, next(), Position{incarnation, 1, recordedAt})
	b.AddRefused(Refused{Subject: "ctx.x", Data: []byte{0xff, 0}, Violations: schema.Violations{{Code: schema.CodeMalformed}}}, next())
	return b
}

// TestASequenceGivesATableOneRow: inserts do not look for duplicates within their block, because no
// message can have any.
func TestASequenceGivesATableOneRow(t *testing.T) {
	t.Parallel()
	b := goldenBatch(t, uuid.New(), 1)
	for _, table := range b.tables() {
		seen := make(map[string]bool)
		for _, c := range table.Input {
			if c.Name != "stream_seq" {
				continue
			}
			for at := c.Data.(*column.FixedColumn).Bytes; len(at) > 0; at = at[8:] {
				if seen[string(at[:8])] {
					t.Errorf("%s has two rows of one message", table.Table)
				}
				seen[string(at[:8])] = true
			}
		}
		if len(seen) != table.Rows {
			t.Errorf("%s has %d sequences in %d rows", table.Table, len(seen), table.Rows)
		}
	}
}

// TestCompressedOnTheWay: compressed blocks, as for a remote server, arrive unchanged.
func TestCompressedOnTheWay(t *testing.T) {
	t.Parallel()
	compressed, err := Open(t.Context(), Migrated.ClickHouse(t).ClickHouseDSN()+"?compress=lz4")
	if err != nil {
		t.Fatal(err)
	}
	defer compressed.Close()
	if compressed.sender.options.Compression != ch.CompressionLZ4 {
		t.Fatal("it travels as it is: the test is about the other way")
	}
	b := goldenBatch(t, uuid.New(), 1)
	if err := compressed.Write(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	if got := counts(t, compressed, ""); !reflect.DeepEqual(got, b.Rows()) {
		t.Errorf("the tables hold %v, the batch %v", got, b.Rows())
	}
	traces, err := compressed.Traces(t.Context(), b.Range)
	if err != nil || uint64(len(traces)) != b.Messages {
		t.Errorf("%d traces of %d messages, %v", len(traces), b.Messages, err)
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addrs string
		want  bool
	}{
		{"127.0.0.1:9000", true}, {"localhost:9000", true}, {"[::1]:9000", true}, {"127.0.0.1:9000 127.0.0.2:9000", true},
		{"10.0.0.1:9000", false}, {"db.internal:9000", false}, {"127.0.0.1:9000 10.0.0.1:9000", false}, {"localhost.example:9000", false},
		{"127.0.0.1", false},
	} {
		if got := loopback(strings.Fields(c.addrs)); got != c.want {
			t.Errorf("%s: %v, want %v", c.addrs, got, c.want)
		}
	}
}

// columnType returns the ClickHouse type for a field's values.
func columnType(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "DateTime64(9, 'UTC')"
	case reflect.TypeFor[uuid.UUID]():
		return "UUID"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "Nullable(" + columnType(t.Elem()) + ")"
	case reflect.Slice:
		return "Array(" + columnType(t.Elem()) + ")"
	case reflect.Map:
		return "Map(" + columnType(t.Key()) + ", " + columnType(t.Elem()) + ")"
	case reflect.Uint64:
		return "UInt64"
	case reflect.Uint32:
		return "UInt32"
	}
	name := t.Kind().String()
	return strings.ToUpper(name[:1]) + name[1:]
}

// rowType is a table with the struct of its rows.
type rowType struct {
	table string
	row   reflect.Type
}

func rowTypes() []rowType {
	list := []rowType{{"commits", reflect.TypeFor[row.Commit]()}}
	tables := Tables()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Batch]()) {
		if strings.HasPrefix(field.Type.Name(), "Rows[") {
			row, _ := field.Type.FieldByName("row")
			list = append(list, rowType{tables[0], row.Type})
			tables = tables[1:]
		}
	}
	return list
}

func TestRowStructsAreTheTables(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	for _, table := range rowTypes() {
		want := make(map[string]string)
		for _, c := range column.ColumnsOf(table.row) {
			want[c.Name] = columnType(c.Of)
		}
		rows, err := l.conn.Query(t.Context(), "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') AND table = '"+table.table+"'")
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer("LowCardinality(String)", "String", "FixedString(32)", "String", "FixedString(16)", "String")
		for rows.Next() {
			var name, kind string
			if err := rows.Scan(&name, &kind); err != nil {
				t.Fatal(err)
			}
			if got, ok := want[name]; !ok {
				t.Errorf("%s.%s %s has no field", table.table, name, kind)
			} else if got != plain.Replace(kind) {
				t.Errorf("%s.%s is %s, its field is %s", table.table, name, kind, got)
			}
			delete(want, name)
		}
		rows.Close()
		for name := range want {
			t.Errorf("%s.%s has a field and no column", table.table, name)
		}
	}
}

func TestEveryCorrelationIDReachesItsColumn(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	fact := &schema.LogAppended{LogItemID: "1", ItemType: "message"}
	var ids schema.Correlation
	var columns, want []string
	for _, f := range schema.CorrelationFields {
		*f.Of(&ids) = "value of " + f.Column
		columns, want = append(columns, f.Column), append(want, "value of "+f.Column)
	}
	e, err := schema.NewEvent(fact, "e", "urn:test", recordedAt, ids)
	if err != nil {
		t.Fatal(err)
	}
	b := &Batch{Range: Range{Incarnation: uuid.New(), First: 1, Last: 1, Messages: 1, RecordedAt: recordedAt}}
	b.Add(e, fact, Position{b.Incarnation, 1, recordedAt})
	if err := l.Write(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"events", "log_items"} {
		var got []string
		if err := l.conn.QueryRow(t.Context(), "SELECT array("+strings.Join(columns, ", ")+") FROM "+table).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q", table, got)
		}
	}
}

func TestARepeatedWriteLeavesNoTrace(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	b := goldenBatch(t, uuid.New(), 1)
	// The first attempt stops after some tables, like a crash.
	for i, table := range b.tables() {
		if i%2 == 0 && table.Rows > 0 {
			if err := l.insert(t.Context(), table, b.Range, b.rules(), 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for epoch := range uint64(3) {
		if err := l.Write(t.Context(), b, epoch+1); err != nil {
			t.Fatal(err)
		}
	}
	if got := counts(t, l, ""); !reflect.DeepEqual(got, b.Rows()) {
		t.Errorf("the tables hold %v without FINAL, the batch %v", got, b.Rows())
	}
	if n := count(t, l, "SELECT count() FROM commits"); n != 1 {
		t.Errorf("%d rows of commits", n)
	}
	r, found, err := l.LastCommit(t.Context(), b.Incarnation)
	if err != nil || !found || !r.Same(b.Range) || !r.RecordedAt.Equal(b.RecordedAt) {
		t.Errorf("last commit %+v, %v, %v; want %+v", r, found, err, b.Range)
	}
	traces, err := l.Traces(t.Context(), b.Range)
	if err != nil || uint64(len(traces)) != b.Messages {
		t.Errorf("%d traces of %d messages, %v", len(traces), b.Messages, err)
	}
	for table, places := range b.Places() {
		for _, at := range places {
			trace := traces[at.StreamSeq]
			if !trace.RecordedAt.Equal(at.RecordedAt) || (trace.Digest != [32]byte{}) != (table == "events") && slices.Contains([]string{"events", "duplicates", "quarantine"}, table) {
				t.Errorf("the trace of %+v in %s is %+v", at, table, trace)
			}
		}
	}
}

// TestLackingTables: all rows of a batch are found in their tables, also rows with digests that end with a
// zero byte. A table that lost its rows lacks them, and only this table.
func TestLackingTables(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	b := goldenBatch(t, uuid.New(), 1)
	for i := range 1000 { // of 256 digests one ends with a zero byte
		b.Messages, b.Last = b.Messages+1, b.Last+1
		b.AddRefused(Refused{Subject: "ctx.x", Data: []byte{0xff, byte(i), byte(i >> 8)}, Violations: schema.Violations{{Code: schema.CodeMalformed}}}, Position{b.Incarnation, b.Last, recordedAt})
	}
	if err := l.WriteRows(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	lacking := func() []Lack {
		t.Helper()
		list, err := l.Lacking(t.Context(), b, b.First, recordedAt)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := lacking(); len(list) > 0 {
		t.Errorf("whole tables lack %+v", list)
	}
	r := Range{Incarnation: b.Incarnation, RecordedAt: recordedAt}
	if last, err := l.LastHeld(t.Context(), r); err != nil || last != b.Last {
		t.Errorf("the last message with a row is %d, %v; want %d", last, err, b.Last)
	}
	commit := Commit{Range: b.Range, Rows: b.Rows()}
	if held, err := l.Held(t.Context(), []Commit{commit}); err != nil || !reflect.DeepEqual(held, []map[string]uint64{commit.Rows}) {
		t.Errorf("held are %v, %v; want %v", held, err, commit.Rows)
	}
	for table, n := range b.Rows() {
		if err := l.conn.Exec(t.Context(), "TRUNCATE TABLE "+table); err != nil {
			t.Fatal(err)
		}
		list := lacking()
		if len(list) != 1 || list[0].Table != table || !list[0].Whole || uint64(len(list[0].Sequences)) != n || len(list[0].Strange) > 0 {
			t.Errorf("without the %d rows of %s, lacking are %+v", n, table, list)
		}
		held, err := l.Held(t.Context(), []Commit{commit})
		if _, there := held[0][table]; err != nil || there || len(held[0]) != len(commit.Rows)-1 {
			t.Errorf("without the rows of %s, held are %v, %v", table, held, err)
		}
		if err := l.insert(t.Context(), tableOf(b, table), b.Range, b.rules(), 2); err != nil {
			t.Fatal(err)
		}
	}
}

func tableOf(b *Batch, name string) column.Table {
	for _, table := range b.tables() {
		if table.Table == name {
			return table
		}
	}
	panic("no table " + name)
}

func TestOtherCutsCollapseUnderFinal(t *testing.T) {
	t.Parallel()
	embeddedtest.Smoke(t)
	l := migrated(t)
	b := goldenBatch(t, uuid.New(), 1)
	if err := l.WriteRows(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	recut := *b
	recut.Last, recut.Digest = b.Last+1, [32]byte{77}
	if err := l.Write(t.Context(), &recut, 2); err != nil {
		t.Fatal(err)
	}
	twice := b.Rows()
	for table := range twice {
		twice[table] *= 2
	}
	if got := counts(t, l, ""); !reflect.DeepEqual(got, twice) {
		t.Errorf("the tables hold %v without FINAL; the test is about rows that came twice", got)
	}
	if got := counts(t, l, "FINAL"); !reflect.DeepEqual(got, b.Rows()) {
		t.Errorf("the tables hold %v with FINAL, the batch %v", got, b.Rows())
	}
}

func TestOnlyWhatWaitingCannotMendIsPermanent(t *testing.T) {
	t.Parallel()
	code := func(n int32) error { return fmt.Errorf("insert: %w", &clickhouse.Exception{Code: n}) }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, true},
		{syscall.ECONNREFUSED, true},
		{code(252), true}, // too many parts
		{code(chsql.CodeMemoryLimit), true},
		{code(chsql.CodeTimeoutExceeded), true},
		{code(394), true}, // canceled
		{code(201), true}, // quota
		{code(516), true}, // password
		{code(243), true}, // disk full
		{code(chsql.CodeUnknownTable), false},
		{code(chsql.CodeNoSuchColumn), false},
		{code(chsql.CodeReadonly), false},
		{fmt.Errorf("append: %w", column.ErrMismatch), false},
	} {
		if Transient(c.err) != c.want {
			t.Errorf("%v: transient is %v", c.err, !c.want)
		}
	}
}

func TestDiscardRemovesOneRange(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	incarnation := uuid.New()
	keep, drop := goldenBatch(t, incarnation, 1), goldenBatch(t, incarnation, 1000)
	for _, b := range []*Batch{keep, drop, goldenBatch(t, uuid.New(), 1000)} {
		if err := l.WriteRows(t.Context(), b, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Discard(t.Context(), drop.Range, nil); err != nil {
		t.Fatal(err)
	}
	twice := keep.Rows()
	for table := range twice {
		twice[table] *= 2 // the range of the other incarnation stays
	}
	if got := counts(t, l, ""); !reflect.DeepEqual(got, twice) {
		t.Errorf("the tables hold %v, want %v", got, twice)
	}
	if n := count(t, l, "SELECT count() FROM events WHERE incarnation = '"+incarnation.String()+"' AND stream_seq >= 1000"); n != 0 {
		t.Errorf("%d rows of the discarded range are left", n)
	}
}

func TestAbsentAndExtremeValues(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 1, time.UTC) }
	b := &Batch{Range: Range{Incarnation: uuid.New(), First: 1, RecordedAt: recordedAt}}
	add := func(fact schema.Fact, when time.Time) {
		e, err := schema.NewEvent(fact, uuid.NewString(), "urn:test", when, schema.Correlation{})
		if err != nil {
			t.Fatal(err)
		}
		b.Last++
		b.Messages++
		e.RecordedTime = when
		b.Add(e, fact, Position{b.Incarnation, b.Last, recordedAt})
	}
	for _, typ := range schema.Types() {
		add(typ.New(), recordedAt) // only the type is set
	}
	times := []time.Time{at(1900), at(1969), at(1970), at(2261).AddDate(0, 11, 30)}
	for _, when := range times {
		add(&schema.LogAppended{
			LogItemID: strings.Repeat("ü", 512), ItemType: "message\x00\n'\\", Position: new(int64(math.MinInt64)), Tokens: new(int64(math.MaxInt64)),
		}, when)
	}
	add(&schema.UsageRecorded{CallID: "c", Cost: new(math.MaxFloat64), GapSeconds: new(math.SmallestNonzeroFloat64)}, recordedAt)
	if err := l.Write(t.Context(), b, math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	if got := counts(t, l, ""); !reflect.DeepEqual(got, b.Rows()) {
		t.Errorf("the tables hold %v, the batch %v", got, b.Rows())
	}
	for i, when := range times {
		var got, relayed time.Time
		var position, tokens *int64
		var kind string
		err := l.conn.QueryRow(t.Context(), fmt.Sprintf("SELECT e.event_time, e.recorded_time, l.position, l.tokens, l.item_type FROM events e JOIN log_items l USING (stream_seq) WHERE stream_seq = %d", len(schema.Types())+i+1)).Scan(&got, &relayed, &position, &tokens, &kind)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(when) || !relayed.Equal(when) || *position != math.MinInt64 || *tokens != math.MaxInt64 || kind != "message\x00\n'\\" {
			t.Errorf("event at %s reads %s, %s, %d, %d, %q", when, got, relayed, *position, *tokens, kind)
		}
	}
	var cost float64
	var unknown *int64
	if err := l.conn.QueryRow(t.Context(), "SELECT cost, output FROM calls WHERE call_id = 'c'").Scan(&cost, &unknown); err != nil || cost != math.MaxFloat64 || unknown != nil {
		t.Errorf("cost %g, output %v, %v; want the largest float and NULL", cost, unknown, err)
	}
	if n := count(t, l, "SELECT count() FROM commits WHERE epoch = 18446744073709551615"); n != 1 {
		t.Errorf("%d commits of the last epoch", n)
	}
}

func TestLookupOfManyIdentities(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	b := goldenBatch(t, uuid.New(), 1)
	if err := l.Write(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	var asked []uint64
	for i := range uint64(50_000) {
		asked = append(asked, math.MaxUint64-i)
	}
	fourth, err := schema.ParseStructured(schema.Golden(schema.Types()[3]))
	if err != nil {
		t.Fatal(err)
	}
	asked = append(asked, fourth.Identity())
	start := time.Now()
	found, err := l.Lookup(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("looked up %d identities in %s", len(asked), time.Since(start))
	if len(found) != 1 || found[0].EventID != fourth.ID || found[0].Digest != fourth.Digest() || found[0].Position.StreamSeq != 4 {
		t.Errorf("found %+v, want the fourth event", found)
	}
	if found, err := l.Lookup(t.Context(), nil); err != nil || len(found) != 0 {
		t.Errorf("nothing asked: found %v, %v", found, err)
	}
}

func TestKillEndsAnInsertThatIsUnderWay(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	b := goldenBatch(t, uuid.New(), 1)
	ctx := clickhouse.Context(t.Context(), clickhouse.WithQueryID(queryPrefix(b.Range)+"1:events:1-1:x"))
	insert, err := l.conn.PrepareBatch(ctx, "INSERT INTO duplicates (source)")
	if err != nil {
		t.Fatal(err)
	}
	if err := insert.Append("written after the kill"); err != nil {
		t.Fatal(err)
	}
	if err := l.KillInserts(t.Context(), uuid.New()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, l, "SELECT count() FROM system.processes WHERE startsWith(query_id, '"+queryPrefix(b.Range)+"')"); n != 1 {
		t.Fatalf("%d inserts run after a kill of another stream's, want 1", n)
	}
	if err := l.KillInserts(t.Context(), b.Incarnation); err != nil {
		t.Fatal(err)
	}
	if err := insert.Send(); err == nil {
		t.Error("a killed insert was accepted")
	}
	if n := count(t, l, "SELECT count() FROM duplicates"); n != 0 {
		t.Errorf("%d rows of a killed insert", n)
	}
}
