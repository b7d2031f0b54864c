// Package row has a struct for the rows of each table, and makes them of facts.
package row

import (
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// Head is the common part of all rows of events: the place of the event, its identity, and its
// correlation ids.
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

// EventType is the standard's name for a type of ours, and the CloudEvents
// type as it came for any other.
func EventType(e *schema.Event) string {
	if t := e.EventType(); t != "" {
		return string(t)
	}
	return e.Type
}

// each is a column of a list: the result of of for each element.
func each[S, T any](list []S, of func(*S) T) []T {
	column := make([]T, len(list))
	for i := range list {
		column[i] = of(&list[i])
	}
	return column
}

// The list of a rare column is empty if no element has a value.
func said[S any, T comparable](list []S, of func(*S) T) []T {
	column := each(list, of)
	var none T
	for _, value := range column {
		if value != none {
			return column
		}
	}
	return nil
}
