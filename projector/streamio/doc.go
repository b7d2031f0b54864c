// Package streamio reads the streams of events, and creates them.
//
// A stream has an incarnation and rules in its metadata. [EnsureStreams] creates the streams.
// [EnsureRules] sets the sequence from which the newest rules apply. A [Source] is an open
// stream. Its [Reader] returns each [Message] in the order of the stream, and never
// acknowledges one.
//
// The digest of a message covers all inputs of its rows; see [Message.Sum]. The digest of a
// range covers the digests of its messages; see [RangeOf]. The journal and the commits
// recognise a range by its digest.
//
// The server also reports a message as not found after a failure to read it. [ProveDeleted]
// therefore reads the list of deleted messages.
package streamio
