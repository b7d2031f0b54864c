// Package column encodes rows into the columns of a block in wire bytes.
package column

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"
)

// A column holds the values of one column of a block as wire bytes. The bytes hold no pointers,
// and the events of the values can be freed. Its type is the server's: Infer takes it from the
// table, and refuses one that the values do not fit with [ErrMismatch].
type column interface {
	proto.ColInput
	proto.Inferable
	proto.StateEncoder
	// take appends the value of a field, which it does not keep. The pointer must
	// be to the Go type that the column was made for.
	Take(field unsafe.Pointer)
	// idle reports whether every value is the one that the server gives a column
	// which an insert leaves out.
	idle() bool
	// reset empties the column and keeps its room.
	Reset()
	// alike returns an empty column of the same kind, with room for as much.
	alike() column
}

// newColumn returns an empty column for values of a Go type: text, numbers,
// times and ids, pointers to these, slices, and maps by text. Another type is a
// programming error.
func newColumn(t reflect.Type) column {
	switch t {
	case reflect.TypeFor[uuid.UUID]():
		return &FixedColumn{base: proto.ColumnTypeUUID, width: 16}
	case reflect.TypeFor[time.Time]():
		return &FixedColumn{base: proto.ColumnTypeDateTime64, width: 8}
	case reflect.TypeFor[map[string]string]():
		return newMapColumn[string]()
	case reflect.TypeFor[map[string]float64]():
		return newMapColumn[float64]()
	case reflect.TypeFor[map[string]uint64]():
		return newMapColumn[uint64]()
	}
	switch t.Kind() {
	case reflect.String:
		return &textColumn{}
	case reflect.Bool:
		return &FixedColumn{base: proto.ColumnTypeBool, width: 1}
	case reflect.Uint32:
		return &FixedColumn{base: proto.ColumnTypeUInt32, width: 4}
	case reflect.Int64:
		return &FixedColumn{base: proto.ColumnTypeInt64, width: 8}
	case reflect.Uint64:
		return &FixedColumn{base: proto.ColumnTypeUInt64, width: 8}
	case reflect.Float64:
		return &FixedColumn{base: proto.ColumnTypeFloat64, width: 8}
	case reflect.Pointer:
		return &nullableColumn{values: newColumn(t.Elem())}
	case reflect.Slice:
		return &arrayColumn{values: newColumn(t.Elem()), size: t.Elem().Size()}
	}
	panic("no column for a " + t.String())
}

// inferred is the type that the server gave a column.
type inferred struct{ kind proto.ColumnType }

func (i *inferred) Type() proto.ColumnType { return i.kind }

// infer notes kind if the values fit its base type.
func (i *inferred) infer(kind proto.ColumnType, fits ...proto.ColumnType) error {
	if !slices.Contains(fits, kind.Base()) {
		return fmt.Errorf("%w: the column is %s", ErrMismatch, kind)
	}
	i.kind = kind
	return nil
}

// FixedColumn holds values that all have the same width.
type FixedColumn struct {
	inferred
	base  proto.ColumnType
	width int // 1, 4, 8 or 16 bytes
	Bytes []byte
}

func (c *FixedColumn) idle() bool                   { return len(bytes.TrimLeft(c.Bytes, "\x00")) == 0 }
func (c *FixedColumn) Reset()                       { c.Bytes = c.Bytes[:0] }
func (c *FixedColumn) Rows() int                    { return len(c.Bytes) / c.width }
func (c *FixedColumn) EncodeState(*proto.Buffer)    {}
func (c *FixedColumn) EncodeColumn(b *proto.Buffer) { b.PutRaw(c.Bytes) }
func (c *FixedColumn) WriteColumn(w *proto.Writer)  { w.ChainWrite(c.Bytes) }

func (c *FixedColumn) Take(field unsafe.Pointer) {
	switch {
	case c.base == proto.ColumnTypeDateTime64:
		c.Bytes = binary.LittleEndian.AppendUint64(c.Bytes, nanoseconds(*(*time.Time)(field)))
	case c.width == 8:
		c.Bytes = binary.LittleEndian.AppendUint64(c.Bytes, *(*uint64)(field))
	case c.width == 4:
		c.Bytes = binary.LittleEndian.AppendUint32(c.Bytes, *(*uint32)(field))
	case c.width == 1:
		c.Bytes = append(c.Bytes, *(*byte)(field))
	default: // the halves of an id are two numbers
		id := (*uuid.UUID)(field)
		c.Bytes = binary.LittleEndian.AppendUint64(c.Bytes, binary.BigEndian.Uint64(id[:8]))
		c.Bytes = binary.LittleEndian.AppendUint64(c.Bytes, binary.BigEndian.Uint64(id[8:]))
	}
}

// nanoseconds since 1970, and 0 for no time.
func nanoseconds(at time.Time) uint64 {
	if at.IsZero() {
		return 0
	}
	return uint64(at.UnixNano())
}

// Infer takes no time of another precision than nanoseconds.
func (c *FixedColumn) Infer(kind proto.ColumnType) error {
	if c.base == proto.ColumnTypeDateTime64 && !strings.HasPrefix(kind.Elem().String(), "9") {
		return fmt.Errorf("%w: the column is %s", ErrMismatch, kind)
	}
	return c.infer(kind, c.base)
}

// textColumn holds strings, each behind its length. They are sent in the type of the table:
// String, FixedString or LowCardinality(String).
type textColumn struct {
	inferred
	rows  int
	bytes []byte
	dictionary
}

func (c *textColumn) Take(field unsafe.Pointer) { c.add(*(*string)(field)) }

func (c *textColumn) add(s string) {
	c.rows++
	switch n := len(s); {
	case n == 0: // most ids are
		c.bytes = append(c.bytes, 0)
	case n < 1<<7:
		c.bytes = append(append(c.bytes, byte(n)), s...)
	default:
		c.bytes = append(binary.AppendUvarint(c.bytes, uint64(n)), s...)
	}
}

func (c *textColumn) idle() bool { return len(c.bytes) == c.rows } // an empty text is only its length

func (c *textColumn) Reset()    { c.bytes, c.rows = c.bytes[:0], 0 }
func (c *textColumn) Rows() int { return c.rows }

func (c *textColumn) Infer(kind proto.ColumnType) error {
	if kind.Base() == proto.ColumnTypeLowCardinality && kind.Elem() != proto.ColumnTypeString {
		return fmt.Errorf("%w: the column is %s", ErrMismatch, kind)
	}
	return c.infer(kind, proto.ColumnTypeString, proto.ColumnTypeFixedString, proto.ColumnTypeLowCardinality)
}

func (c *textColumn) EncodeState(b *proto.Buffer) {
	if c.kind.Base() == proto.ColumnTypeLowCardinality {
		b.PutInt64(dictionaryVersion)
	}
}

func (c *textColumn) EncodeColumn(b *proto.Buffer) {
	switch c.kind.Base() {
	case proto.ColumnTypeLowCardinality:
		if c.rows > 0 {
			c.dictionary.encode(b, c.bytes, c.rows)
		}
	case proto.ColumnTypeFixedString:
		for rest := c.bytes; len(rest) > 0; {
			var s []byte
			s, rest = cutText(rest)
			b.PutRaw(s)
		}
	default:
		b.PutRaw(c.bytes)
	}
}

func (c *textColumn) WriteColumn(w *proto.Writer) {
	if c.kind == proto.ColumnTypeString {
		w.ChainWrite(c.bytes)
		return
	}
	w.ChainBuffer(c.EncodeColumn)
}

// cutText returns the first string of a text column's bytes, and the rest.
func cutText(b []byte) (s, rest []byte) {
	n, width := binary.Uvarint(b)
	end := width + int(n)
	return b[width:end], b[end:]
}

// dictionary encodes text that repeats itself as the distinct strings and their
// numbers.
type dictionary struct {
	index map[string]uint32
	words []byte // the distinct strings, each behind its length
	keys  []uint32
}

const (
	dictionaryVersion = 1
	// dictionaryAlone means that a block holds all strings that it refers to.
	dictionaryAlone = 1<<9 | 1<<10
)

func (d *dictionary) encode(b *proto.Buffer, text []byte, rows int) {
	if d.index == nil {
		d.index = make(map[string]uint32)
	}
	clear(d.index)
	d.words, d.keys = d.words[:0], d.keys[:0]
	var last []byte
	key := uint32(0)
	for i, rest := 0, text; i < rows; i++ {
		var s []byte
		if s, rest = cutText(rest); i == 0 || !bytes.Equal(s, last) {
			var known bool
			if key, known = d.index[string(s)]; !known {
				key = uint32(len(d.index))
				d.index[string(s)] = key
				d.words = append(binary.AppendUvarint(d.words, uint64(len(s))), s...)
			}
			last = s
		}
		d.keys = append(d.keys, key)
	}
	// The width of a number: 0 is one byte, 1 two, 2 four.
	width := int64(0)
	if len(d.index) > 1<<8 {
		width++
	}
	if len(d.index) > 1<<16 {
		width++
	}
	b.PutInt64(dictionaryAlone | width)
	b.PutInt64(int64(len(d.index)))
	b.PutRaw(d.words)
	b.PutInt64(int64(rows))
	for _, key := range d.keys {
		switch width {
		case 0:
			b.PutUInt8(uint8(key))
		case 1:
			b.PutUInt16(uint16(key))
		default:
			b.PutUInt32(key)
		}
	}
}

// nullableColumn holds values of which some are not known, nil in Go.
type nullableColumn struct {
	inferred
	nulls  []byte // 1 for a value that is not known
	values column
}

// nothing is the zero value of every type below a nullable column.
var nothing [32]byte

func (c *nullableColumn) Take(field unsafe.Pointer) {
	value := *(*unsafe.Pointer)(field)
	if value == nil {
		c.nulls = append(c.nulls, 1)
		c.values.Take(unsafe.Pointer(&nothing))
		return
	}
	c.nulls = append(c.nulls, 0)
	c.values.Take(value)
}

func (c *nullableColumn) idle() bool { return bytes.IndexByte(c.nulls, 0) < 0 }

func (c *nullableColumn) Reset() {
	c.nulls = c.nulls[:0]
	c.values.Reset()
}

func (c *nullableColumn) Rows() int                   { return len(c.nulls) }
func (c *nullableColumn) EncodeState(b *proto.Buffer) { c.values.EncodeState(b) }

func (c *nullableColumn) Infer(kind proto.ColumnType) error {
	if err := c.infer(kind, proto.ColumnTypeNullable); err != nil {
		return err
	}
	return c.values.Infer(kind.Elem())
}

func (c *nullableColumn) EncodeColumn(b *proto.Buffer) {
	b.PutRaw(c.nulls)
	c.values.EncodeColumn(b)
}

func (c *nullableColumn) WriteColumn(w *proto.Writer) {
	w.ChainWrite(c.nulls)
	c.values.WriteColumn(w)
}

// arrayColumn holds lists: where each ends, and the values of all.
type arrayColumn struct {
	inferred
	ends   []byte // numbers of 8 bytes
	size   uintptr
	values column
}

func (c *arrayColumn) Take(field unsafe.Pointer) {
	// Only the start and the length of the slice are used.
	list := *(*[]byte)(field)
	start := unsafe.Pointer(unsafe.SliceData(list))
	for i := range len(list) {
		c.values.Take(unsafe.Add(start, uintptr(i)*c.size))
	}
	c.ends = binary.LittleEndian.AppendUint64(c.ends, uint64(c.values.Rows()))
}

func (c *arrayColumn) idle() bool { return c.values.Rows() == 0 }

func (c *arrayColumn) Reset() {
	c.ends = c.ends[:0]
	c.values.Reset()
}

func (c *arrayColumn) Rows() int                   { return len(c.ends) / 8 }
func (c *arrayColumn) EncodeState(b *proto.Buffer) { c.values.EncodeState(b) }

func (c *arrayColumn) Infer(kind proto.ColumnType) error {
	if err := c.infer(kind, proto.ColumnTypeArray); err != nil {
		return err
	}
	return c.values.Infer(kind.Elem())
}

func (c *arrayColumn) EncodeColumn(b *proto.Buffer) {
	b.PutRaw(c.ends)
	c.values.EncodeColumn(b)
}

func (c *arrayColumn) WriteColumn(w *proto.Writer) {
	w.ChainWrite(c.ends)
	c.values.WriteColumn(w)
}

// mapColumn holds maps by text: where each ends, and names and values of all,
// each map's in the order of its names.
type mapColumn[V any] struct {
	inferred
	ends   []byte // numbers of 8 bytes
	names  textColumn
	values column
	sorted []string
}

func newMapColumn[V any]() *mapColumn[V] {
	return &mapColumn[V]{values: newColumn(reflect.TypeFor[V]())}
}

func (c *mapColumn[V]) Take(field unsafe.Pointer) {
	if m := *(*map[string]V)(field); len(m) > 0 {
		c.sorted = slices.AppendSeq(c.sorted[:0], maps.Keys(m))
		slices.Sort(c.sorted)
		for _, name := range c.sorted {
			value := m[name]
			c.names.add(name)
			c.values.Take(unsafe.Pointer(&value))
		}
		clear(c.sorted)
	}
	c.ends = binary.LittleEndian.AppendUint64(c.ends, uint64(c.names.rows))
}

func (c *mapColumn[V]) idle() bool { return c.names.rows == 0 }

func (c *mapColumn[V]) Reset() {
	c.ends = c.ends[:0]
	c.names.Reset()
	c.values.Reset()
}

func (c *mapColumn[V]) Rows() int { return len(c.ends) / 8 }

func (c *mapColumn[V]) EncodeState(b *proto.Buffer) {
	c.names.EncodeState(b)
	c.values.EncodeState(b)
}

func (c *mapColumn[V]) Infer(kind proto.ColumnType) error {
	if err := c.infer(kind, proto.ColumnTypeMap); err != nil {
		return err
	}
	name, value, _ := strings.Cut(kind.Elem().String(), ", ")
	if err := c.names.Infer(proto.ColumnType(name)); err != nil {
		return err
	}
	return c.values.Infer(proto.ColumnType(value))
}

func (c *mapColumn[V]) EncodeColumn(b *proto.Buffer) {
	b.PutRaw(c.ends)
	c.names.EncodeColumn(b)
	c.values.EncodeColumn(b)
}

func (c *mapColumn[V]) WriteColumn(w *proto.Writer) {
	w.ChainWrite(c.ends)
	c.names.WriteColumn(w)
	c.values.WriteColumn(w)
}

// ErrMismatch means rows that do not fit the table: the database is in another state than this
// program expects. Run migrate; waiting does not help.
var ErrMismatch = errors.New("the rows do not fit the table")
