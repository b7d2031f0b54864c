// Package capture records the exact windows that agents send to models.
//
//	request, response ──▶ Tap ──▶ Recorder: dialect ──▶ session ──▶ guard ──▶ Transport
//
// A Go program wraps the transport of its HTTP client in a [Transport]. A proxy uses a [Tap] for
// each exchange, see package proxy. Both copy the bytes that pass and give the copies to a
// [Recorder], which works in the background.
//
// A [Conversation] copies a WebSocket of the Responses API:
//
//	bytes ──▶ frame.Reader ──▶ messages ──▶ exchanges, by their lanes ──▶ Recorder
//
// Each response.create begins an exchange, and the events of its lane end it. A message that is
// no request, and bytes that are no frames, are counted; the calls that they concern are partial.
//
// # What is read
//
// Of the headers only the session, the request id and the user agent are read. A credential of
// a request is kept in memory as a value to withhold, and reaches no fact. Texts are stored only
// with Config.StoreText; digests, sizes and token counts always. A text that does not fit into its
// fact goes to Config.Texts before the fact is sent. If it cannot be stored there, or has a withheld
// value, the fact does not name it.
//
// # What is durable
//
// A Recorder with a folder keeps the state of each session in a file. Before the facts of an
// exchange are sent, the file SESSION.new has the next state together with the facts, and it is
// synced with its folder. After the transport has stored the facts, it becomes SESSION.json. A
// Recorder that opens a folder with a SESSION.new sends its facts again, unchanged. A kill at any
// point therefore adds no item twice, and no event gets a second content. Exchanges that still
// wait in memory are lost with the process; their facts were never said to be stored.
//
// # What is never disturbed
//
// Nothing here waits for the ledger, the disk or the parse while bytes pass. When more waits
// than Config.MaxWaiting, the exchange is dropped, counted, and recorded as a loss.
package capture
