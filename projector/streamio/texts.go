package streamio

import "github.com/nats-io/nats.go/jetstream"

// TextsBucket is the name of the object bucket with the texts that are too large for their events. Each
// object is encrypted; see package texts.
const TextsBucket = "CTX_TEXTS"

// TextsStream is the stream of [TextsBucket].
const TextsStream = "OBJ_" + TextsBucket

// textsConfig returns the stream of an object bucket as clients of NATS make it, with one difference.
// Only the leader answers: an erasure must see the newest state of each object.
func textsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: TextsStream, Description: "texts that are too large for their events, encrypted",
		Subjects: []string{"$O." + TextsBucket + ".C.>", "$O." + TextsBucket + ".M.>"},
		MaxMsgs:  -1, MaxBytes: -1, MaxMsgsPerSubject: -1, Discard: jetstream.DiscardNew, AllowRollup: true,
	}
}
