// Package producer is the SDK with which an agent runtime records its context windows.
//
//	client := must(producer.Connect(ctx, producer.DefaultConfig(nc)))
//	run := must(client.Open(ctx, producer.Run{Session: "s_42", Agent: "coder"}))
//	turn := run.Turn("turn_7", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}})
//	item := must(turn.Add(ctx, producer.Content{ID: "m1", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "hi"}))
//	call := turn.Call("call_1")
//	plan := must(call.Fit(ctx, []window.Item{item}, window.DefaultPolicy(), nil)) // surface, selection, pressure, budget
//	blocks := must(call.Assemble(ctx, plan))                                      // in order, for the model
//	check(call.Inject(ctx, blocks, schema.InjectMessageHistory))                  // the model sees them
//	check(call.Usage(ctx, plan, schema.ProviderUsage{UncachedInput: new(int64(1)), Output: new(int64(9))}))
//	must(turn.Seal(ctx)) // the stream has all facts of the turn
//
// The functions must and check end the program at an error; README.md has all of it. A
// fact that a method refuses with an error is not recorded.
//
// # From a call to the stream
//
//	RunContext, Turn, Call ── schema.Fact ──▶ Client.Record ── guard, contract, sequence ──▶ Publisher ── atomic batch ──▶ JetStream
//
// Pure functions compute the facts from the arguments of the methods. The Client adds
// identity, order and time. Recording never waits for the stream. Only Missing, Seal and
// Flush wait, until their context ends. Seal failed turns as well, and call Flush before
// the program ends. Other facts are sent within Config.Linger and are lost if the program
// ends before.
//
// # The contents of a run
//
// A run has ids, grants, limits, stores and resources. A child inherits them and can only
// request less. [Client.Open] and [RunContext.Child] decide this once, and later calls
// never widen it. Each call that records several facts records all of them or none. Methods
// take a context.Context, and the caller derives a child's context from the parent's. No
// field holds values that live only at run time, and so no fact can hold one.
//
// [RunContext.Scope] describes the run to models, tools and middleware.
//
// Facts hold the trace of the OpenTelemetry span in the context of the recording call.
//
// # The item log
//
// [Turn.Add] appends the content of the conversation to the append-only log of its thread.
// Entries have the item types of seed 003 or extensions of the form prefix:name, and an
// item status. An image or a file is a [Part] of content, by reference. Markers distinguish
// summaries of reasoning, encrypted reasoning and refusals from other entries. [Call.Usage]
// records the sent part of the log, by layer and by use, next to the reports of the layers.
//
// The tests run these groups of shared/vectors/noetic.json by name: layer_usage (the sums;
// layers of one name are one), track_usage, check_budget, lineage_key and item_schema. They
// omit N029 to N031, which do not compile, and N034, a type outside the seed. These groups
// are not part of this package:
//
//   - estimate_tokens: the model's tokenizer counts tokens.
//   - allocate_budgets and assemble_view: a runtime fills its window by its own rules, and
//     package window plans by the rules of the seeds.
//   - cache_config, cache_outcome, reanchor_reason and churn_rate: these are noetic's cache
//     anchoring. Facts record its inputs: a reported zero differs from an unknown, and each
//     call names the changed layers.
//
// # From a decision to its facts
//
// Package window makes the decisions as pure functions, before anything happens. The
// methods of [Call] record the decisions. Each method records all of its facts or none.
//
//	decided by            recorded by         facts
//	window.Fit            Fit                 surface, selection, pressure ×5 if the ladder runs, budget,
//	                                          elision and reload of tool outputs, compaction of a Work's summary
//	                      FitWithSummary      the same, and step 3 as a compaction
//	window.Plan           Assemble, Inject    assembly and injection; AssembleFor for a tool call
//	window.PlanElision    Elide, Reload       elision, with the planned cost and the moved injections of the head;
//	                                          Restore reloads from the host's [Store] and returns the window
//	window.Head           InjectHead,         injection applied and removed, a persona's cue
//	                      SetPersona
//	window.PlanCompaction Compact             compaction started, and one end: completed, failed or discarded
//	                      RunningLog.Refresh  summary created, then refreshed
//
// A [Work] or a [Summarizer] is a function of the runtime. The function runs with a
// context, a limit of [WorkTime] and a recovery. Its failure is recorded as the outcome of
// its step or the end of its compaction. The text of its error is never recorded. If the
// context ends while the function runs, no fact of the plan is recorded.
//
// A [Summary] with a bill records its model call, with its own model. Goals are recorded in
// the compaction, where they are in force, and in the summary, where it keeps them.
//
// A compaction has one start and at most one end. After a crash between them, the ledger
// has only the start. Only a completed compaction makes its summary an item.
//
// # Places and accounts
//
// A [Place] names the task, attempt, step, tool call or action of facts. A run and a child
// have one, and [Turn.In] gives a part of a turn one. A retry is a run, or a turn, of
// another attempt. A retry may use the same ids, because the ledger separates attempts.
//
// RunContext.Account counts the use of a run and of the runs below it. The account reserves
// amounts under their [Limits] before they are spent: see [Account.Reserve].
//
// # When the stream is unavailable
//
// Facts wait in memory and are sent in order when the stream is available again. Facts in
// memory are lost if the process is killed. With an outbox on disk, of package outbox, no
// fact is lost after [Turn.Seal] has returned for it:
//
//	box, err := outbox.Open("/var/lib/agent/outbox", outbox.DefaultOptions())
//	config := producer.DefaultConfig(nc)
//	config.Outbox = box
//
// Each batch is then on disk before the first attempt to send it. The batch leaves the disk
// when the stream has stored it. This work happens in the background, not in Record. Seal
// waits for the stream for at most Config.StreamWait. Seal does not wait while the stream
// is known to be unavailable. The receipt names the place of the turn: the stream or the
// outbox.
//
// The outbox also holds the instance and the sequences. After a restart the client
// continues with them and first sends the waiting facts. Facts that were only in memory
// have used no visible sequence, so their loss leaves no hole. Two processes cannot share
// an outbox.
//
// Config.WhenFull selects the handling of facts when there is no more room. [Client.Err]
// returns why the others wait. The server can refuse an event permanently, for example
// above a limit that was lowered later. A context.facts.dropped with the event's sequence
// takes its place, and the events after it are not delayed.
//
// Before the client sends a batch again, it looks for the batch in the stream. The stream
// therefore stores nothing twice, even long after it forgot message ids. A producer needs
// permission to publish to its subjects. For the lookup it also needs the requests
// $JS.API.STREAM.NAMES, $JS.API.STREAM.INFO.CTX, $JS.API.CONSUMER.CREATE.CTX.> and
// $JS.API.CONSUMER.MSG.NEXT.CTX.>.
//
// The tenants of a stream share its message ids. The stream can therefore mistake an event
// for a duplicate of another message. The client sends such an event again under a random
// id, counts it in [Client.TakenIDs] and logs it in Config.Log. With
// $JS.API.STREAM.MSG.GET.CTX the client recognizes its own messages. Without this
// permission, such an event may be in the stream twice, and counts once.
//
// # Withheld values
//
// The guard masks withheld values in data, and each masking is recorded as a redaction. Ids
// are not masked, because two different ids would become equal. A fact is refused with a
// WithheldError if its correlation ids, or a field of the fact that ends in _id, hold a
// withheld value. A fact is also refused if the contract refuses its masked form, for
// example a masked number. References to other records, such as the candidates of a
// selection, are data and are masked.
//
// Values that Config.Detector finds are withheld from then on. The detector does not see
// the texts that Add counts and digests, because they stay in the process.
// TestNoSecretReachesTheStream checks every text field of every event type, with secrets in
// many disguises. Values that are split over fields are found if their parts follow one
// another.
//
// # Large facts
//
// A fact that is too large for one event is recorded in parts under one record id. A
// selection numbers its parts in the fields part and parts. The candidates of each part are
// the selected and omitted candidates of this part. Surfaces, pressure steps, budgets,
// elisions, assemblies and redactions number their parts in metadata. Some facts of very
// large windows omit the items and refer to another record. Segments and injections refer
// to the assembly, an envelope to the facts of its sequences, and a compaction to its
// source window. Metadata marks each omission. Package internal/facts cuts the facts.
//
// Related packages: package exampleagent is a complete agent loop to read and copy. With
// package producertest, the tests of a runtime inspect the recorded facts. Package window
// plans without effects, and package grant narrows the access of a child run. Package
// redact withholds values, and package importer reads session logs of other programs. These
// four packages do not use NATS.
package producer
