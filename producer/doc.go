// Package producer is what an agent runtime imports to record the life of its
// context windows.
//
//	client, err := producer.Connect(ctx, producer.DefaultConfig(nc))
//	run, err := client.Open(ctx, producer.Run{Session: "s_42", Agent: "coder", Grants: grant.Set{"app/repo"}})
//	turn := run.Turn("turn_7", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}})
//	item, err := turn.Add(ctx, producer.Content{ID: "m1", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "hi"})
//	call := turn.Call("call_1")
//	plan, err := call.Fit(ctx, []window.Item{item}, window.DefaultPolicy(), nil) // surface, selection, pressure, budget
//	asm, err := call.Assemble(ctx, plan)                                         // ordered blocks for the model
//	err = call.Inject(ctx, asm, schema.InjectMessageHistory)                     // became visible
//	err = call.Usage(ctx, plan, billed)                                          // the window by layer, and what it cost
//	_, err = turn.Seal(ctx)                                                      // stored; the receipt says where
//
// # From a call to the stream
//
//	RunContext, Turn, Call ── schema.Fact ──▶ Client.Record ── guard, contract, sequence ──▶ Publisher ── atomic batch ──▶ JetStream
//
// What the methods record is decided by pure functions of their arguments; the
// Client adds identity, order and time. Recording never waits for the stream:
// only Missing, Seal and Flush do, as long as their context lets them. Seal a turn
// that failed as well, and Flush before the program ends: facts that nobody waited
// for go out within Config.Linger, and are lost where it ends before that.
//
// # What a run has
//
// A run has ids, grants, limits, stores and resources. A child inherits them, and
// what it asks for can only be less: [Client.Open] and [RunContext.Child] settle
// that once, and nothing widens it later. Each call that records several facts
// records all of them or none. Cancellation is that of the context.Context, from
// which a caller derives its child's. Values that live only at run time have no
// field here, so no fact can hold one.
//
// [RunContext.Scope] says what a run is, for models, tools and middleware.
//
// Facts carry the trace of the OpenTelemetry span in the context that they are
// recorded with.
//
// # The item log
//
// [Turn.Add] appends what belongs to the conversation to the append-only log of
// its thread, with seed 003's item types, extensions of the form prefix:name and
// item status. Images and files are a [Part] of content, by reference. Markers tell
// summaries of reasoning, encrypted reasoning and refusals from other entries.
// [Call.Usage] says what was sent of the log, by layer and by use, next to what layers
// report of themselves. Of
// shared/vectors/noetic.json the tests run, by name, the groups that concern this:
// layer_usage (the sums; layers of one name are one), track_usage, check_budget,
// lineage_key and item_schema, but for N029 to N031, which do not compile, and
// N034, a type that the seed does not have. Not of this package are
// estimate_tokens (tokens are counted with the model's tokenizer),
// allocate_budgets and assemble_view (how a runtime fills its window is its own;
// package window plans by the seeds' rules), and cache_config, cache_outcome,
// reanchor_reason and churn_rate (noetic's cache anchoring, whose inputs are
// recorded: a reported zero stays apart from an unknown, and each call says which
// layers changed).
//
// # What happens to a window
//
// The decisions are package window's, pure and made before anything happens; the
// methods of [Call] record them, each all or none.
//
//	decided by            recorded by         facts
//	window.Fit            Fit                 surface, selection, pressure ×5 if it does not fit at once, budget,
//	                                          elision and reload of tool outputs, compaction of a Work's summary
//	                      FitWithSummary      the same, and step 3 as a compaction
//	window.Plan           Assemble, Inject    assembly and injection; AssembleFor for a tool call
//	window.PlanElision    Elide, Reload       elision, with the cost that was planned, and what it moved at the head;
//	                                          Restore reloads from the host's [Store] and returns the window
//	window.Head           InjectHead,         injection applied and removed, a persona's cue
//	                      SetPersona
//	window.PlanCompaction Compact             compaction started, and one end: completed, failed or discarded
//	                      RunningLog.Refresh  summary created, then refreshed
//
// The runtime's own functions, a [Work] or a [Summarizer], run with a context, a
// bound of [WorkTime] and a recovery. What goes wrong in one is the outcome of its
// step or the end of its compaction, and never quoted. A context that ends
// meanwhile leaves no fact of a plan that nobody waits for.
//
// A [Summary] whose call was billed records that call, with its own model. Goals stand
// in the compaction, where they are in force, and in the summary, where it keeps them.
//
// A compaction has one start and at most one end. Who crashes in between leaves
// the start alone; only a completed one has made its summary an item.
//
// # Places and accounts
//
// A [Place] says which task, attempt, step, tool call or action facts belong to. A run and
// a child have one, and [Turn.In] gives a part of a turn one. A retry is a run, or a turn,
// of another attempt. It may use the same ids: the ledger keeps attempts apart.
//
// RunContext.Account counts what a run and the runs below it use, and holds amounts
// against their [Limits] before they are spent: see [Account.Reserve].
//
// # When the stream is away
//
// Facts wait in memory and go out in order, once the stream is back, without
// being asked. What waits there is lost if the process is killed. With an outbox
// on disk, of package outbox, nothing is lost that [Turn.Seal] returned for:
//
//	box, err := outbox.Open("/var/lib/agent/outbox", outbox.DefaultOptions())
//	config := producer.DefaultConfig(nc)
//	config.Outbox = box
//
// Each batch is then on disk before it is sent for the first time, and leaves the
// disk once the stream has it. That is the background's work, not Record's. Seal
// waits for the stream as long as Config.StreamWait lets it, and not at all while
// the stream is known to be away; its receipt says which of the two has the turn.
// The outbox also holds the instance and the sequences: after a restart the
// client goes on where it was, and what waited goes out first. Facts that were
// only in memory used up no sequence that anybody saw, so their loss leaves no
// gap. Two processes cannot share an outbox.
//
// When there is no more room, Config.WhenFull says what becomes of the next fact;
// [Client.Err] says why the others wait. An event that the server refuses for
// itself and for ever, such as one beyond a limit that was lowered since, does not
// hold up those behind it: a context.facts.dropped with its sequence takes its
// place.
//
// A batch that was tried and may be in the stream is looked for there before it
// is sent again, so nothing is stored twice, also long after the stream forgot
// message ids. For this a producer needs, beside publishing to its subjects,
// permission for the requests $JS.API.STREAM.NAMES, $JS.API.STREAM.INFO.CTX,
// $JS.API.CONSUMER.CREATE.CTX.> and $JS.API.CONSUMER.MSG.NEXT.CTX.>.
//
// The tenants of a stream share its message ids. An event that the stream takes for a
// duplicate of another message is sent again under a random id: [Client.TakenIDs]
// counts these, and Config.Log says so. With $JS.API.STREAM.MSG.GET.CTX the client
// tells a message of its own from another; without it such an event may be in the
// stream twice, and counts once.
//
// # Withheld values
//
// The guard masks in data, and each masking is itself a redaction fact. Ids are
// not masked, since two would become one: a fact is refused with a WithheldError
// if its correlation ids or a field of its own that ends in _id hold a withheld
// value, and so is one that the contract would not take masked, such as a count of
// 8 digits or more that is the value. References to other records, such as the
// candidates of a selection, are data and are masked. With Config.Detector, what
// it finds is withheld from then on; the texts that Add counts and digests, which
// stay in the process, are not shown to it.
//
// Of 1,000 secrets in every field of every event type that holds text, none can be
// read in the stream in any of 22 disguises, of values split over fields those
// whose parts follow one another (TestNoSecretReachesTheStream,
// BenchmarkDisguises).
//
// # Large facts
//
// What one event cannot hold is recorded in parts under one record id. A
// selection numbers them in part and parts, and each part's candidates are its
// selected and omitted ones; surfaces, pressure steps, budgets, elisions,
// assemblies and redactions number them in metadata. The segments of a very large
// window, and the injection of one, leave their items to the assembly, an
// envelope to the facts of its sequences, and a compaction to its source window;
// each says so in metadata.
//
// Beside it: package exampleagent is a whole agent loop to read and copy from,
// package producertest lets a runtime's own tests look at what it recorded.
// Package window plans without effects, package grant narrows what a
// child run may touch, package redact withholds values, package importer reads
// other programs' session logs. They have no NATS in them.
package producer
