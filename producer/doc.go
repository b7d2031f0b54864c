// Package producer is what an agent runtime imports to record the life of its
// context windows.
//
//	client, err := producer.Connect(ctx, producer.DefaultConfig(nc))
//	run, err := client.Open(ctx, producer.Run{Session: "s_42", Agent: "coder"})
//	turn := run.Turn("turn_7", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}})
//	item, err := turn.Add(ctx, producer.Content{ID: "m1", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "hi"})
//	call := turn.Call("call_1")
//	plan, err := call.Fit(ctx, []window.Item{item}, window.DefaultPolicy(), nil) // surface, selection, pressure, budget
//	asm, err := call.Assemble(ctx, plan)                                       // ordered blocks for the model
//	err = call.Inject(ctx, asm, schema.InjectMessageHistory)                  // became visible
//	err = turn.Seal(ctx)                                                      // returns once the stream has it all
//
// # From a call to the stream
//
//	RunContext, Turn, Call ── schema.Fact ──▶ Client.Record ── guard, contract, sequence ──▶ Publisher ── atomic batch ──▶ JetStream
//
// What the methods record is decided by pure functions of their arguments; the
// Client adds identity, order and time. Recording never waits for the stream:
// only Missing, Seal and Flush do, as long as their context lets them.
//
// # When the stream is away
//
// Facts wait in memory and go out in order, once the stream is back, without
// being asked. When Config.MaxQueued facts wait, the next one is refused with
// ErrQueueFull; Client.Err says why they wait. A refused fact uses up no
// sequence, so it leaves no gap that a check would find: a runtime that goes on
// without it should say so. What waits is lost if the process is killed; an
// outbox on disk is not part of this package yet. Events that JetStream is sent
// twice are stored once within the stream's window for duplicates; the projector
// recognises later ones.
//
// # Withheld values
//
// The guard masks in data, and each masking is itself a redaction fact. Ids are
// not masked, since two would become one: a fact whose own id or correlation ids
// hold a withheld value is refused. References to other records, such as the
// candidates of a selection, are data and are masked.
//
// # Large facts
//
// What one event cannot hold is recorded in parts under one record id. A
// selection numbers them in part and parts, and each part's candidates are its
// selected and omitted ones; surfaces, pressure steps, budgets, elisions,
// assemblies and redactions number them in metadata. The segments of a very large
// window, and the injection of one, leave their items to the assembly, and an
// envelope to the facts of its sequences; each says so in metadata.
//
// Beside it: package window plans without effects, package grant narrows what a
// child run may touch, package redact withholds values, package importer reads
// other programs' session logs. They have no NATS in them.
package producer
