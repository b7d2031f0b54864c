package ledger

import (
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// Head is the part that every row derived from an event has: where the event
// stands, who it is, and every correlation id that it had.
type Head struct {
	Incarnation uuid.UUID `ch:"incarnation"`
	StreamSeq   uint64    `ch:"stream_seq"`
	RecordedAt  time.Time `ch:"recorded_at"`
	EventTime   time.Time `ch:"event_time"`
	EventID     string    `ch:"event_id"`
	Source      string    `ch:"source"`
	EventType   string    `ch:"event_type"`
	Sequence    *int64    `ch:"sequence"`
	schema.Correlation
}

// Position is where a message stands: which incarnation of which stream, its
// sequence there, and when the stream stored it.
type Position struct {
	Incarnation uuid.UUID
	StreamSeq   uint64
	RecordedAt  time.Time
}

func headOf(e *schema.Event, at Position) Head {
	return Head{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		EventTime: e.Time, EventID: e.ID, Source: e.Source, EventType: rowEventType(e),
		Sequence: e.Sequence, Correlation: e.Correlation,
	}
}

// rowEventType is the standard's name for a type of ours, and the CloudEvents
// type as it came for any other.
func rowEventType(e *schema.Event) string {
	if t := e.EventType(); t != "" {
		return string(t)
	}
	return e.Type
}

// A rowColumn is one column of a row struct: its name in the table and the
// path to the field.
type rowColumn struct {
	name  string
	index []int
}

// columnsOf reads the ch tags of a row struct. The fields of an embedded
// schema.Correlation take their names from [schema.CorrelationFields], which
// has the same order.
func columnsOf(row reflect.Type) []rowColumn {
	var columns []rowColumn
	for i := range row.NumField() {
		field := row.Field(i)
		switch {
		case field.Type == reflect.TypeFor[schema.Correlation]():
			for j, c := range schema.CorrelationFields {
				columns = append(columns, rowColumn{c.Column, []int{i, j}})
			}
		case field.Anonymous:
			for _, c := range columnsOf(field.Type) {
				columns = append(columns, rowColumn{c.name, append([]int{i}, c.index...)})
			}
		default:
			columns = append(columns, rowColumn{field.Tag.Get("ch"), []int{i}})
		}
	}
	return columns
}

// gather returns the values of one column over all rows, as a slice of the
// field's type, the form in which clickhouse-go appends whole columns.
func gather(rows reflect.Value, c rowColumn) any {
	field := rows.Type().Elem().FieldByIndex(c.index)
	values := reflect.MakeSlice(reflect.SliceOf(field.Type), rows.Len(), rows.Len())
	for i := range rows.Len() {
		values.Index(i).Set(rows.Index(i).FieldByIndex(c.index))
	}
	return values.Interface()
}
