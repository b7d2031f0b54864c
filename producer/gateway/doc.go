// Package gateway takes CloudEvents over HTTP and stores them in JetStream.
//
//	POST /v1/events ──▶ guard ──▶ body ──▶ read ──▶ publish.CheckIncoming ──▶ JetStream ──▶ verdicts
//
// [Handler] speaks the CloudEvents HTTP protocol binding 1.0.2 in all three modes:
//
//	binary      ce-… headers, the data is the body
//	structured  Content-Type: application/cloudevents+json
//	batch       Content-Type: application/cloudevents-batch+json, a JSON array of events
//
// Content-Encoding is gzip, zstd or none. The limits hold for the decompressed body, and hold
// before memory is taken.
//
// # Verdicts
//
// The answer follows JetStream's acknowledgment and has one verdict an event, in the order of
// the request:
//
//	stored       the stream has the event, at stream and sequence
//	refused      the event breaks the contract: violations with code, place, finding and fix
//	not_stored   the event is valid and is not in the stream; the answer's code says why
//	unconfirmed  the event is valid, and no acknowledgment arrived: send it again
//	valid        a dry run: the event would be stored
//
// An event that is sent again is stored again and counts once in the ledger, at any distance,
// because its source and id are the same. An event whose message id the stream already knows
// is stored under a random message id. Another message may have taken the id.
//
// # Parameters
//
//	?dry_run  judge the events and store nothing
//	?all      store all events or none: at most 1,000, all of one partition
//
// # Telemetry
//
// POST /v1/logs and /v1/traces take OTLP/HTTP, protobuf and JSON, for [Config.Telemetry], which
// reads the model calls in it; see package otlp. The answer is in the encoding of the request. When
// it comes with status 200, the stream or the outbox of the recorder has the facts.
//
// # Receipts
//
//	GET /v1/receipts?source=<source>&after=<position> ──▶ notices, next
//
// An event that was stored can still be quarantined by the projector: it conflicts with another
// event, or holds a value that a redaction withholds. The tenant gets a notice; see
// [schema.Notice]. The answer has the notices after a position, in order. Pass next as after in
// the next request. Notices are kept for a week, at most 1,000 for about one source. The table
// quarantine has all messages.
//
// # Status
//
//	200  every event was stored, or is valid in a dry run
//	422  an event was refused; without ?all, the other events are stored
//	413  the request is too large for one answer, or for ?all
//	429  too many requests or bytes are under way: wait for Retry-After seconds
//	503  the stream did not take or did not confirm an event: send it again
//
// Every status except 200 comes with application/problem+json (RFC 9457), see [Problem].
//
// # Who may publish
//
// [Config.Tenant] binds a request to a tenant. An event without a tenant gets this one. An
// event that names another tenant is refused. Facts of the operator are refused for everyone.
// A page of another site can make a browser post, but no form has a content type that is accepted
// here. The server in front of the handler checks Host and Sec-Fetch-Site for all of its paths.
package gateway
