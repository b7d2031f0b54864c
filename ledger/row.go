package ledger

import (
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

// each is a column of a list: what of gives for each element.
func each[S, T any](list []S, of func(*S) T) []T {
	column := make([]T, len(list))
	for i := range list {
		column[i] = of(&list[i])
	}
	return column
}
