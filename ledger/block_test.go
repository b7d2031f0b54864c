package ledger

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"github.com/google/uuid"
)

// A rowFiller fills rows with random values of every length, including empty ones.
type rowFiller struct{ *rand.Rand }

func (f rowFiller) fill(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *uuid.UUID:
		for i := range p {
			p[i] = byte(f.Uint32())
		}
		return
	case *time.Time:
		*p = time.Unix(f.Int64N(1e9), f.Int64N(1e9)).UTC()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Pointer:
		if f.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.IntN(4), 4))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(4) {
			value := reflect.New(v.Type().Elem()).Elem()
			f.fill(value)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint("name ", f.IntN(9))), value)
		}
	case reflect.String:
		v.SetString(strings.Repeat([]string{"", "a", "ü", "\x00", "text "}[f.IntN(5)], f.IntN(60)))
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int64:
		v.SetInt(int64(f.Uint64()))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.Uint32()))
	case reflect.Float64:
		v.SetFloat(f.NormFloat64())
	default:
		panic(v.Type().String())
	}
}

// TestBlocksHoldTheirRows reads the rows of a block back through the other client. A long block has
// a value in every column. Short blocks omit some columns.
func TestBlocksHoldTheirRows(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	filler := rowFiller{rand.New(rand.NewPCG(1, 2))}
	for _, table := range rowTypes() {
		b := new(column.Block).Of(table.table)
		b.Shape(table.row)
		var want []reflect.Value
		incarnation, at := uuid.New(), recordedAt
		for _, length := range []int{400, 0, 1, 1, 2} { // 0 is one row without values
			for range max(length, 1) {
				made := reflect.New(table.row)
				if length > 0 {
					filler.fill(made.Elem())
				}
				setKey(made.Elem(), incarnation, uint64(len(want)), at)
				if commit, ok := made.Interface().(*row.Commit); ok {
					commit.WriterRules = uint32(NewestRules) // otherwise the table refuses the row
				}
				want = append(want, made)
				b.Take(made.UnsafePointer())
			}
			if _, sent := b.Sent(); length == 0 && len(sent) == len(b.Columns) {
				t.Errorf("%s: all columns are sent for a made without values", table.table)
			}
			if err := l.InsertBlock(t.Context(), b, "", nil); err != nil {
				t.Fatal(err)
			}
			b.Reset()
			if b.Rows != 0 || slices.ContainsFunc(b.Columns, func(c column.BlockColumn) bool { return c.Rows() != 0 }) {
				t.Errorf("%s: rows are left in an empty block", table.table)
			}
		}
		got := readRows(t, l, table)
		for i := range want {
			if w, g := describe(want[i].Elem()), describe(got[i].Elem()); w != g {
				t.Fatalf("%s: made %d is\n%s, want\n%s", table.table, i, g, w)
			}
		}
	}
}

// setKey gives a row its sequence, a time within one month, and a digest of the right length.
func setKey(made reflect.Value, incarnation uuid.UUID, seq uint64, at time.Time) {
	for name, value := range map[string]any{"Incarnation": incarnation, "StreamSeq": seq, "First": seq, "RecordedAt": at, "Tenant": "t", "SessionID": "s", "Code": "c"} {
		if f := made.FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
	for name, length := range map[string]int{"Salt": 16, "Hash": 32, "TreeRoot": 32} {
		if f := made.FieldByName(name); f.IsValid() {
			f.SetString(strings.Repeat(string(rune('a'+seq%26)), length))
		}
	}
	if f := made.FieldByName("Digest"); f.IsValid() && (made.Type() == reflect.TypeFor[row.Event]() || made.Type() == reflect.TypeFor[row.Commit]()) {
		f.SetString(strings.Repeat(string(rune('a'+seq%26)), 32))
	}
}

func readRows(t *testing.T, l *Ledger, table rowType) []reflect.Value {
	t.Helper()
	columns := column.ColumnsOf(table.row)
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	order := "stream_seq"
	if table.table == "commits" {
		order = "first_seq"
	}
	rows, err := l.conn.Query(clickhouse.Context(t.Context()), "SELECT "+strings.Join(names, ", ")+" FROM "+table.table+" ORDER BY "+order)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []reflect.Value
	for rows.Next() {
		row := reflect.New(table.row)
		fields := make([]any, len(columns))
		for i, c := range columns {
			fields[i] = reflect.NewAt(c.Of, unsafe.Add(row.UnsafePointer(), c.Offset)).Interface()
		}
		if err := rows.Scan(fields...); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return list
}

// describe formats a row. Missing and empty values have the same format.
func describe(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return "&" + describe(v.Elem())
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, describe(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Map:
		return fmt.Sprint(v) // in the order of the names
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			if at.IsZero() { // tables have no other zero time
				at = time.Unix(0, 0)
			}
			return at.UTC().Format(time.RFC3339Nano)
		}
		var b strings.Builder
		for i := range v.NumField() {
			fmt.Fprintf(&b, "%s:%s ", v.Type().Field(i).Name, describe(v.Field(i)))
		}
		return b.String()
	}
	return fmt.Sprintf("%#v", v.Interface())
}

// dictionaryRow is a row of the table rechecks with the columns of this test.
type dictionaryRow struct {
	Tenant       string `ch:"tenant"`
	Fingerprints string `ch:"fingerprints"`
	Pass         uint64 `ch:"pass"`
}

// TestDictionariesOfEveryWidth: the index width of a dictionary changes above 256 and 65,536
// strings.
func TestDictionariesOfEveryWidth(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	for _, distinct := range []int{1, 2, 255, 256, 257, 65_535, 65_536, 65_537} {
		b := new(column.Rows[dictionaryRow])
		for i := range distinct + 1 {
			b.Add(dictionaryRow{Tenant: fmt.Sprint("tenant ", i%distinct), Fingerprints: fmt.Sprint("of ", distinct), Pass: uint64(i)})
		}
		if err := l.InsertBlock(t.Context(), b.Of("rechecks"), "", nil); err != nil {
			t.Fatal(err)
		}
		where := fmt.Sprintf(" FROM rechecks WHERE fingerprints = 'of %d'", distinct)
		if n := count(t, l, "SELECT uniqExact(tenant)"+where); n != uint64(distinct) {
			t.Errorf("of %d strings %d arrived", distinct, n)
		}
		if n := count(t, l, fmt.Sprintf("SELECT countIf(tenant != concat('tenant ', toString(pass %% %d)))", distinct)+where); n != 0 {
			t.Errorf("of %d strings %d stand in the wrong row", distinct, n)
		}
	}
}

func TestAColumnOfAnotherTypeIsAMismatch(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	for _, change := range []string{"Int64", "LowCardinality(Nullable(String))", "Array(String)"} {
		table := "odd" + fmt.Sprint(len(change))
		if err := l.conn.Exec(t.Context(), "CREATE TABLE "+table+" (tenant "+change+") ENGINE = Memory"); err != nil {
			t.Fatal(err)
		}
		type odd struct {
			Tenant string `ch:"tenant"`
		}
		err := l.InsertBlock(t.Context(), column.TableOf(table, odd{"t"}), "", nil)
		if err == nil || Transient(err) || !strings.Contains(err.Error(), change) {
			t.Errorf("%s: %v, want a mismatch that names the type", change, err)
		}
	}
}
