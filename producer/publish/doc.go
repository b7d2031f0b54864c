// Package publish stores events in the stream, in order, and keeps them while the stream is
// unavailable.
//
//	Publisher ──▶ queue ──▶ worker ──▶ route ──▶ sender of each partition ──▶ JetStream
//	                           └─────▶ Outbox ──▶ relay ──▶ route
//
// A client of package producer has a [Publisher]. Programs that publish events of other
// programs make one with [New]. A [Transport] is the destination of a client's events: a
// publisher, with or without an [Outbox], or a recorder of a test.
//
// The package is public because programs that only forward events use it without a client.
package publish
