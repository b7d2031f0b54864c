// Package dialect reads one exchange with a model's API: the bytes of a request and of its
// response become an [Exchange].
//
//	request bytes  ──▶ Dialect.ReadRequest ──▶ Request: model, limits, ordered blocks
//	response bytes ──▶ Reader.Write        ──▶ Answer: blocks, usage, ids, stop reason
//
// The dialects are Anthropic Messages, OpenAI Chat Completions and OpenAI Responses. [Match]
// selects the dialect by the method and the path of a request.
//
// # Blocks
//
// The blocks of a request are its window: first the system prompt, then the tool definitions,
// then each part of each message, then the members of the request that the dialect does not
// know. A block holds its JSON text unchanged. Content that is a string becomes one text part,
// because clients switch between the two forms. Members of a message that the dialect does not
// know become a block of their own. A block of an unknown type keeps its text and its size, so
// no window loses a block.
//
// # Responses
//
// A [Reader] takes a response whole or as server-sent events, in pieces of any size. The result
// does not depend on the borders of the pieces. A stream that ends early gives the part that
// arrived, and [Answer.Complete] is false.
//
// The package is pure: it reads no clock, no file and no network. It keeps parts of the bytes
// that it was given, so callers do not change them.
package dialect
