// Package producer is what an agent runtime imports to record the life of its
// context windows.
//
//	client, err := producer.Connect(ctx, producer.DefaultConfig(nc))
//	run, err := client.Open(ctx, producer.Run{Session: "s_42", Agent: "coder"})
//	item, err := run.Add(ctx, producer.Content{ID: "m1", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "hi"})
//	turn := run.Turn("turn_7", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}})
//	call := turn.Call("call_1")
//	win, err := call.Fit(ctx, []window.Item{item}, window.DefaultPolicy(), nil) // surface, selection, pressure, budget
//	asm, err := call.Assemble(ctx, win)                                       // ordered blocks for the model
//	_, err = call.Inject(ctx, asm, schema.InjectMessageHistory)               // became visible
//	err = turn.Seal(ctx)                                                      // returns once the stream has it all
//
// # From a call to the stream
//
//	RunContext, Call ── schema.Fact ──▶ Client.Record ── guard, sequence ──▶ Publisher ── atomic batch ──▶ JetStream
//
// What the methods record is decided by pure functions of their arguments; the
// Client adds identity, order and time. Recording never waits for a batch that
// is not full: only Flush and Seal do. Facts that were recorded and not yet
// flushed are lost if the process is killed; an outbox on disk is not part of
// this package yet.
//
// Beside it: package window plans without effects, package grant narrows what a
// child run may touch, package redact withholds values, package importer reads
// other programs' session logs. They have no NATS in them.
package producer
