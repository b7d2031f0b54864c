// Package publish stores events in the stream, in order, and keeps them while the
// stream is away.
//
//	Publisher ──▶ queue ──▶ worker ──▶ route ──▶ sender of each partition ──▶ JetStream
//	                           └─────▶ Outbox ──▶ relay ──▶ route
//
// A client of package producer has a [Publisher]; programs that publish events of others
// make one with [New]. A [Transport] is where a client's events go: a publisher, with or
// without an [Outbox], or what a test records them in.
//
// The package is public, unlike the rest of the producer's inside, because programs that
// only forward events need it without a client.
package publish
