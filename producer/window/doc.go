// Package window plans the content of a model call's context window and computes the cost
// of the plan (seed 000, context pressure; seed 004, context engineering).
//
// Five parts, each a pure function of its input:
//
//   - [Fit] runs the pressure ladder: from candidates, a budget and a policy to a [Plan]
//     with an entry for every candidate.
//   - [PlanElision] plans an elision pass and its cost before any change.
//   - [Head] holds the content that is injected at the head of the conversation.
//   - [PlanCompaction] plans the replacement of items by a summary.
//   - [Compare], [CacheRates] and [Bill] compute the costs of a prefix cache, before a call
//     and after a call.
//
// [Counter] counts tokens. Only Counter has memory, a cache, and Counter is safe for
// concurrent use. The answers of Counter depend only on its arguments. The other parts have
// no state, do no I/O and read no clock, so the same input gives equal facts. Only Counter
// reads text, and it keeps none.
//
// # The ladder
//
//	1 drop_retrieved        lowest priority first, then the last one first
//	2 trim_messages         oldest first
//	3 summarize_messages    all but the newest few, by the runtime's function
//	4 compact_tool_outputs  oldest first, by a stub or the runtime's function
//	5 context_limit         a LimitError that names the remaining items
//
// Each step stops when the request fits. The policy decides how much steps 1 and 2 leave.
// Trimming should keep more items than summarizing, because otherwise step 3 has no items
// to summarize. Items that share a tool call stay or leave together. Pinned items and the
// newest user message stay in any case.
//
// Conservation: the candidates are exactly the selected and the omitted items. Each omitted
// item has one of the standard's twelve reasons. A summarized item is omitted as
// superseded_by_summary. A compacted tool output is selected, with its new size.
//
// # Elision and the head
//
// A pass elides and moves content in one change. Injected content leaves its old place only
// when a pass cuts the cache anyway, and moves to the newest user message. Therefore the
// cost of a pass counts from the first change of both. [Pass] holds the cost before any
// change. [Pass.Settle] computes the cost from the bill.
//
// # Differences between code and vectors
//
// The following cases of shared/vectors/tinyagents.json differ from the seed, and this
// package follows the seed:
//
//   - T030: the vector starts the ladder when the budget is reached. In the seed a request
//     of equal size fits. HighWater and TriggerTokens start the ladder earlier.
//   - T032: the vector may trim the newest user message; here this message always stays.
//   - T033, T034, T038, T039: in the vectors trimming and compressing always continue down
//     to keep_last; here every step stops when the request fits.
//   - T035: the vector drops the system prompt as the last resort, down to an empty
//     request; the seed's last resort is the context-limit error.
//   - T037: the vector's source ids are positions within the slice; here they are item ids.
//   - T039: the vector applies a summary that is larger than its source; here the summary
//     is refused, and the step fails.
//   - T041: in the vector a failing summarizer trims, aborts or passes the request on. Here
//     the next configured step runs, and a request that does not fit is never passed on.
//   - T042, T043: the vectors compact without pressure; here compacting is step 4 and runs
//     only under pressure. A budget of 0 disables the gate in the vectors and is an error
//     here.
//   - T017 is the fallback without a tokenizer. T020 and T022 estimate a provider's framing
//     and images; here the caller counts them.
//
// Seed 004 is ambiguous about an injected message. The message is "replaced by a newer
// version on the next user turn" and also stays "until the next elision pass".
// [ReplaceMode] offers both. The default never keeps two messages of one kind.
package window
