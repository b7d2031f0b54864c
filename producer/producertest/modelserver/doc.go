// Package modelserver is a model provider for tests. It answers model calls with a script and
// keeps every byte that it received. Tests run real agent programs against it and compare facts
// with those bytes.
//
//	server := modelserver.New(t, modelserver.Sequence(
//		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", `{"command":"date"}`)}},
//		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("done")}},
//	))
//	… a client runs with the base URL server.URL …
//	for _, request := range server.Requests() { … request.Body … }
//
// Requests:
//
//	POST …/messages               Anthropic Messages, whole or as server-sent events
//	POST …/messages/count_tokens  a count; does not advance the script
//	POST …/responses              OpenAI Responses, whole or as server-sent events
//	GET  …/responses              OpenAI Responses over a WebSocket, compressed if the client offers it
//	POST …/chat/completions       OpenAI Chat Completions, whole or as server-sent events
//	anything else                 kept, and answered with status 404
//
// On a WebSocket each message is one request. A message can continue a response of its connection
// by previous_response_id. A message with generate false gets an empty answer and does not advance
// the script.
//
// A [Script] chooses the [Answer] of each model call. An answer can also be a [Fault]: a status,
// an error inside of a stream, a stream that is cut, a delay, slow bytes, or malformed events.
//
// The server listens on loopback only. Ids in answers are numbered and begin with the name of
// the test, so sessions of several servers can share a ledger.
package modelserver
