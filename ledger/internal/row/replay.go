package row

import (
	"time"

	"github.com/google/uuid"
)

// Replay is a row of the table replays: a message that replays a refused one.
type Replay struct {
	Incarnation   uuid.UUID `ch:"incarnation"`
	StreamSeq     uint64    `ch:"stream_seq"`
	RecordedAt    time.Time `ch:"recorded_at"`
	Tenant        string    `ch:"tenant"`
	OfIncarnation uuid.UUID `ch:"of_incarnation"`
	OfSeq         uint64    `ch:"of_seq"`
}
