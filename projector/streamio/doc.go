// Package streamio reads the streams of events, and sets them up.
//
// A stream has an incarnation and rules in its metadata. [EnsureStreams] creates the
// streams; [EnsureRules] makes the newest rules hold from a sequence on. A [Source] is a
// stream that was opened. Its [Reader] returns each [Message] in the order of the stream,
// and never acknowledges one.
//
// A message has a digest over all that rows derive from, see [Message.Sum]. The digest of
// a range is over the digests of its messages, see [RangeOf]: the journal and the commits
// recognise a range by it.
//
// The server says that a message is not found whatever kept it from reading one. So
// [ProveDeleted] asks for the list of deleted messages instead.
package streamio
