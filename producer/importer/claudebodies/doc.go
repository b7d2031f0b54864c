// Package claudebodies imports the folder in which Claude Code keeps the bodies of its requests
// and responses, if OTEL_LOG_RAW_API_BODIES is file:FOLDER.
//
//	index.jsonl           one line a response: session, message, names of the two files, time
//	NAME.request.json     the body of a request
//	NAME.response.json    the message that the response's events made
//
// The bodies are read with the dialect and the observer of a capture, so the same session gives
// the same windows. The facts say serialized: the client wrote the bodies, nobody saw the wire.
// The ids of calls end in :body, because a capture or a log may tell of the same calls. All
// records of one call have the provider's message id.
//
// The client replaces the text of its reasoning by a mark. Such a block is opaque, and its window
// is partial. A request without a line in the index had no response that was complete; it is
// counted and has no facts.
//
// Sessions and calls come in the order of the index. A folder that has grown gives the earlier
// events again, byte for byte, and then the new ones.
package claudebodies
