// Package producertest lets a runtime's own tests inspect the recorded facts, without a
// server.
//
//	client, rec := producertest.New(t)
//	… the runtime works with client …
//	plan := producertest.One[*schema.SelectionCompleted](t, rec.Events().Turn("turn-1"))
//
// A [Recorder] is a [publish.Transport] in the process. The recorder reads each message as
// the projector would, checks it against the contract, and keeps the decoded fact. A stream
// would hold the same events. The rest of the SDK is unchanged.
//
// When the test ends, the recorder checks the rules of every recording: see
// [Recorder.Check]. A recorder has no goroutine and no connection.
package producertest
