// Package producertest lets a runtime's own tests look at what the runtime
// recorded, without a server.
//
//	client, rec := producertest.New(t)
//	… the runtime works with client …
//	plan := producertest.One[*schema.SelectionCompleted](t, rec.Events().Turn("turn-1"))
//
// A [Recorder] is a [publish.Transport] in the process: it reads each message as
// the projector would, holds it to the contract, and keeps the decoded fact. What
// it keeps is what a stream would hold; nothing else of the SDK is replaced.
//
// When the test ends, the recorder checks what must hold in any recording: see
// [Recorder.Check]. It has no goroutine and no connection.
package producertest
