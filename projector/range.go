package projector

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
)

// rangeOf names a batch: its sequences, and a digest over the digests of its
// messages, so that the range can be recognised when it is read again.
func rangeOf(batch []*message) ledger.Range {
	first, last := batch[0].position, batch[len(batch)-1].position
	r := ledger.Range{
		Incarnation: first.Incarnation, First: first.StreamSeq, Last: last.StreamSeq,
		Messages: uint64(len(batch)), RecordedAt: last.RecordedAt,
	}
	h := sha256.New()
	for _, m := range batch {
		h.Write(m.sum())
	}
	h.Sum(r.Digest[:0])
	return r
}

// placeOf stands for a message of which nothing but its place is to be known.
func placeOf(at ledger.Position) *message { return &message{position: at} }

// withPlaces puts places in the stead of the messages that stand there, or stood
// there, in a slice of its own: the messages may still be wanted as they are. One
// that was recorded at another time is another message, and stays.
func withPlaces(messages []*message, places []ledger.Position) []*message {
	if len(places) == 0 {
		return messages
	}
	messages = slices.Clone(messages)
	at := func(m *message, p ledger.Position) int { return cmp.Compare(m.position.StreamSeq, p.StreamSeq) }
	for _, place := range places {
		i, found := slices.BinarySearchFunc(messages, place, at)
		switch {
		case !found:
			messages = slices.Insert(messages, i, placeOf(place))
		case messages[i].position.RecordedAt.Equal(place.RecordedAt):
			messages[i] = placeOf(place)
		}
	}
	return messages
}
