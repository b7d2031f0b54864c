package streamio

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
)

// RangeOf returns the range of a batch: its sequences, and a digest over the digests of its
// messages. The digest identifies the range when it is read again.
func RangeOf(batch []*Message) ledger.Range {
	first, last := batch[0].Position, batch[len(batch)-1].Position
	r := ledger.Range{
		Incarnation: first.Incarnation, First: first.StreamSeq, Last: last.StreamSeq,
		Messages: uint64(len(batch)), RecordedAt: last.RecordedAt,
	}
	h := sha256.New()
	for _, m := range batch {
		h.Write(m.Sum())
	}
	h.Sum(r.Digest[:0])
	return r
}

// PlaceOf returns a message that holds only its place.
func PlaceOf(at ledger.Position) *Message { return &Message{Position: at} }

// WithPlaces returns a copy of messages with places in it. A place replaces the message with
// its sequence and time, or is inserted if there is no message with its sequence. A message
// with another time is another message, and stays.
func WithPlaces(messages []*Message, places []ledger.Position) []*Message {
	if len(places) == 0 {
		return messages
	}
	messages = slices.Clone(messages)
	at := func(m *Message, p ledger.Position) int { return cmp.Compare(m.Position.StreamSeq, p.StreamSeq) }
	for _, place := range places {
		i, found := slices.BinarySearchFunc(messages, place, at)
		switch {
		case !found:
			messages = slices.Insert(messages, i, PlaceOf(place))
		case messages[i].Position.RecordedAt.Equal(place.RecordedAt):
			messages[i] = PlaceOf(place)
		}
	}
	return messages
}
