// Package window decides what a model call's context window holds, and says what
// that costs (seed 000, context pressure; seed 004, context engineering).
//
// Five parts, each a pure function of its input:
//
//   - [Fit] climbs the pressure ladder: from candidates, a budget and a policy to
//     a [Plan] that accounts for every candidate.
//   - [PlanElision] plans an elision pass and its cost before anything is applied.
//   - [Head] is what is injected at the head of the conversation.
//   - [PlanCompaction] plans what a summary is to stand for.
//   - [Compare], [CacheRates] and [Bill] are the arithmetic of a prefix cache,
//     before a call and after it.
//
// [Counter] counts tokens. It is the one part with memory, a cache, and is safe
// for concurrent use; its answers depend on its arguments alone. The rest has no
// state, does no I/O and reads no clock, so the same input gives equal facts.
// Nothing here sees text except Counter, and it keeps none.
//
// # The ladder
//
//	1 drop_retrieved        lowest priority first, then the last one first
//	2 trim_messages         oldest first
//	3 summarize_messages    all but the newest few, by the runtime's function
//	4 compact_tool_outputs  oldest first, by a stub or the runtime's function
//	5 context_limit         a LimitError that names what remained
//
// Each step stops as soon as the request fits. What steps 1 and 2 leave is up to
// the policy: let trimming keep more items than summarising does, or step 3 has
// nothing left to do. Items that share a tool call stay or go together. Pinned
// items and the newest user message stay in any case.
//
// Conservation: the candidates are exactly the selected and the omitted, each of
// those with one of the standard's twelve reasons. A summarised item is omitted
// as superseded_by_summary; a compacted tool output is selected, at its new size.
//
// # Elision and the head
//
// A pass elides and moves at once: what is injected leaves its old place exactly
// when a pass cuts the cache anyway, and comes back at the newest user message.
// So the cost of a pass counts the first change of both, and [Pass] says it
// before anything is applied. [Pass.Settle] says it again from the bill.
//
// # Where code and seed differ
//
// Of shared/vectors/tinyagents.json the following differ, and the seed holds:
//
//   - T030: there the ladder starts when the budget is reached; the seed asks
//     whether the request fits, so equal fits. HighWater and TriggerTokens start it earlier.
//   - T032: there the newest user message may be trimmed; here it never is old.
//   - T033, T034, T038, T039: there trimming and compressing always go down to
//     keep_last; here every step stops as soon as the request fits.
//   - T035: there the system prompt is dropped as the last resort, down to an
//     empty request; the seed's last resort is the context-limit error.
//   - T037: there source ids are positions within the slice; here item ids.
//   - T039: there a summary may be larger than its source and is applied; here it
//     is refused, and the step has failed.
//   - T041: there a failing summariser falls back to trimming, aborts or passes
//     the request on; here the next configured step runs, and a request that
//     does not fit is never passed on.
//   - T042, T043: there compacting runs by itself; here it is step 4 and runs
//     only under pressure. A budget of 0, which there switches the gate off, is
//     an error here.
//   - T017 is the fallback where there is no tokenizer; T020 and T022 guess at a
//     provider's framing and images, which here belong to what the caller counts.
//
// Of seed 004 one sentence is left open: an injected message is "replaced by a
// newer version on the next user turn" and also stays "until the next elision
// pass". [ReplaceMode] offers both; the default never has two of a kind.
package window
