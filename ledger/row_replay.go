package ledger

import (
	"time"

	"github.com/google/uuid"
)

// replayRow is a row of the table replays: a message that replays a refused one.
type replayRow struct {
	Incarnation   uuid.UUID `ch:"incarnation"`
	StreamSeq     uint64    `ch:"stream_seq"`
	RecordedAt    time.Time `ch:"recorded_at"`
	Tenant        string    `ch:"tenant"`
	OfIncarnation uuid.UUID `ch:"of_incarnation"`
	OfSeq         uint64    `ch:"of_seq"`
}

// AddReplay records that the message at replays the refused one at of, whose
// time is not looked at. What became of the replay is told by the other rows.
func (b *Batch) AddReplay(tenant string, at, of Position) {
	b.replays.add(replayRow{
		Incarnation: at.Incarnation, StreamSeq: at.StreamSeq, RecordedAt: at.RecordedAt,
		Tenant: tenant, OfIncarnation: of.Incarnation, OfSeq: of.StreamSeq,
	})
}
