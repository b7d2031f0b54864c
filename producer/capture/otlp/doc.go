// Package otlp reads model calls from OTLP logs and traces.
//
//	body ──▶ Traces, Logs ──▶ attributes ──▶ Mapping ──▶ content ──▶ dialect ──▶ Call
//
// A span or a log record is a model call by its name or its operation; see [Mapping] and the page
// MAPPING.md, which is generated from it. Everything else is counted and left. The messages are
// written in the dialect of their provider and read by package dialect. A text block so has the
// digest of the same block on the wire. The arguments of a tool call may differ in their spaces.
//
// What telemetry does not tell is a reason for partial coverage, or unknown. The buckets of a
// usage are disjoint: input tokens include those of the cache, and output tokens those of the
// reasoning. A call without a conversation has its trace as the session, trace_<id>.
//
// A [Reporter] gives the calls to a recorder. It leaves out a call whose span it has already
// recorded, since exporters repeat requests, and since some emitters tell of a call by a span and
// by an event. It remembers the last calls in memory only.
package otlp
