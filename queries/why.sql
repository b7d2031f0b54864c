-- What became of an item in a session, step by step, and why?
-- Section: What did the model see?
--
-- In the stream's order. A summary that an item went into, and a gap that names it, count whenever they came.
-- It reads the tables themselves, each once by its key, because planning a dozen views takes longer than this answer may.
--
-- Parameters:
--   tenant      String  id    = ''                    only this tenant; '' is all
--   session_id  String  id    required                the session
--   turn_id     String  id    = ''                    the turn that the question is about, for in_turn; all steps come anyway
--   item_id     String  id    required                the item
--   limit       UInt32  rows  = 10000  [1..100000]    most rows to return
-- Columns:
--   recorded_at    time    when the stream stored it
--   event_time     time    when it happened
--   turn_id        id      the turn; empty outside of one
--   in_turn        bool    whether it is the turn that was asked about
--   call_id        id      the model call
--   step           text    added, updated, removed, logged, available, considered, selected, omitted, shortened, assembled, injected, withdrawn, elided, reloaded, compacted, redacted, missing detected, missing requested, missing resolved, seen (in a window that was projected from the item log)
--   record_id      id      the record that says so: the surface, selection, budget, assembly, injection, pass, compaction, redaction or gap
--   position       count   place in the surface, the window or the item log; 0 is first; NULL if not known
--   rank           count   1 is best; NULL if not given
--   score          score   NULL if not given
--   tokens_before  tokens  its size before the step; of the whole source for a compaction; NULL if not known
--   tokens_after   tokens  its size after it; of the summary for a compaction; NULL if not known
--   reason         text    why: what is withheld of an item, the reason of the omission, how it was cut, the trigger, the reason of the redaction, the state of the gap
--   note           text    in words: the title, the query, the layer, the level of the elision, what the summary lost, the question of the gap
--   policy         text    the policy, method or severity that decided
--   stand_in       id      what stands for it or holds it: where it can be read again, the summary, the replacement, the assembly, the target, the owner of the gap
--   signals        map     parts of the score, by name
WITH
-- Where it stands in the item log, and the tool call that it answers.
(
    SELECT (min(position), any(thread_id), anyIf(tool_call_id, item_type = 'function_call_output'))
    FROM log_items FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND {item_id:String} IN (log_item_id, item_ref)
) AS logged,
-- The assemblies that hold it, and where.
(
    SELECT (groupArray(assembly_id), groupArray(ifNull(block_positions[arrayFirstIndex(x -> has(x, {item_id:String}), block_items)], arrayFirstIndex(x -> has(x, {item_id:String}), block_items) - 1)))
    FROM placements FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'assembly' AND arrayExists(x -> has(x, {item_id:String}), block_items)
) AS shown_in,
-- Since when a summary stands for it.
(
    SELECT min(ifNull(sequence, toInt64(stream_seq)))
    FROM replacements FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'compaction' AND change = 'completed' AND (has(source_item_refs, {item_id:String}) OR logged.1 BETWEEN first_position AND last_position AND if(source_thread_id = '', thread_id, source_thread_id) = logged.2) AND NOT has(retained_tail_refs, {item_id:String})
) AS cut
SELECT recorded_at, event_time, turn_id, toBool(turn_id = {turn_id:String} AND turn_id != '') AS in_turn, call AS call_id, step, record AS record_id, place AS position, rank_given AS rank, score_given AS score,
    before AS tokens_before, after AS tokens_after, why AS reason, words AS note, rule AS policy, other AS stand_in, parts AS signals
FROM
(
    SELECT recorded_at, stream_seq, event_time, turn_id, '' AS call, 0 AS step_order, toString(change) AS step, item_id AS record, CAST(NULL, 'Nullable(Int64)') AS place, CAST(NULL, 'Nullable(Int64)') AS rank_given, CAST(NULL, 'Nullable(Float64)') AS score_given, token_estimate AS before, token_estimate AS after, multiIf(reason != '', reason, redaction_state = 'none', '', toString(redaction_state)) AS why, if(title = '', toString(context_kind), title) AS words, arrayStringConcat(policy_refs, ', ') AS rule, arrayStringConcat(source_uris, ', ') AS other, CAST(map(), 'Map(String, Float64)') AS parts
    FROM items FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND item_id = {item_id:String}
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 1, 'logged', log_item_id, position, NULL, NULL, tokens, tokens, '', toString(item_type), '', '', CAST(map(), 'Map(String, Float64)')
    FROM log_items FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND {item_id:String} IN (log_item_id, item_ref)
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 2, 'available', surface_id, indexOf(candidate_refs, {item_id:String}) - 1, NULL, NULL, NULL, NULL, '', toString(surface_kind), '', '', CAST(map(), 'Map(String, Float64)')
    FROM decisions FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind IN ('surface_created', 'surface_updated') AND has(candidate_refs, {item_id:String})
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 3, 'considered', record_id, NULL, NULL, NULL, NULL, NULL, '', if(query = '', intent, query), toString(policy), surface_id, CAST(map(), 'Map(String, Float64)')
    FROM decisions FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind IN ('selection_started', 'selection_completed') AND has(candidate_refs, {item_id:String}) AND NOT has(item_refs, {item_id:String})
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 4, toString(outcomes[indexOf(item_refs, {item_id:String})]), record_id, NULL, ranks[indexOf(item_refs, {item_id:String})], scores[indexOf(item_refs, {item_id:String})], tokens[indexOf(item_refs, {item_id:String})], tokens[indexOf(item_refs, {item_id:String})], toString(reasons[indexOf(item_refs, {item_id:String})]), notes[indexOf(item_refs, {item_id:String})], toString(policy), surface_id, CAST(signals[indexOf(item_refs, {item_id:String})], 'Map(String, Float64)')
    FROM decisions FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'selection_completed' AND has(item_refs, {item_id:String})
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 5, 'shortened', record_id, NULL, NULL, NULL, truncated_before[indexOf(truncated_refs, {item_id:String})], truncated_after[indexOf(truncated_refs, {item_id:String})], toString(truncated_strategies[indexOf(truncated_refs, {item_id:String})]), '', toString(overflow_strategy), '', CAST(map(), 'Map(String, Float64)')
    FROM windows FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'budget' AND has(truncated_refs, {item_id:String})
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 6, 'assembled', assembly_id, ifNull(block_positions[arrayFirstIndex(x -> has(x, {item_id:String}), block_items)], arrayFirstIndex(x -> has(x, {item_id:String}), block_items) - 1), NULL, NULL, block_tokens[arrayFirstIndex(x -> has(x, {item_id:String}), block_items)], block_tokens[arrayFirstIndex(x -> has(x, {item_id:String}), block_items)], toString(block_redactions[arrayFirstIndex(x -> has(x, {item_id:String}), block_items)]), toString(block_layers[arrayFirstIndex(x -> has(x, {item_id:String}), block_items)]), '', toString(target), CAST(map(), 'Map(String, Float64)')
    FROM placements FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'assembly' AND arrayExists(x -> has(x, {item_id:String}), block_items)
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 7, if(record_kind = 'removal', 'withdrawn', 'injected'), record_id, if(has(shown_in.1, assembly_id), shown_in.2[indexOf(shown_in.1, assembly_id)], NULL), NULL, NULL, NULL, NULL, removed_by_pass, concat(toString(injection_kind), if(injection_point = '', '', concat(' at ', toString(injection_point)))), '', if(record_kind = 'removal', replaced_by, assembly_id), CAST(map(), 'Map(String, Float64)')
    FROM placements FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind IN ('injection', 'removal') AND (has(item_refs, {item_id:String}) OR has(shown_in.1, assembly_id) AND assembly_id != '')
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 8, if(change = 'reloaded', 'reloaded', 'elided'), record_id, elided_positions[greatest(indexOf(elided_refs, {item_id:String}), if(logged.3 = '', 0, indexOf(elided_tool_call_ids, logged.3)))], NULL, NULL, elided_before[greatest(indexOf(elided_refs, {item_id:String}), if(logged.3 = '', 0, indexOf(elided_tool_call_ids, logged.3)))], elided_after[greatest(indexOf(elided_refs, {item_id:String}), if(logged.3 = '', 0, indexOf(elided_tool_call_ids, logged.3)))], toString(trigger), toString(if(elided_levels[greatest(indexOf(elided_refs, {item_id:String}), if(logged.3 = '', 0, indexOf(elided_tool_call_ids, logged.3)))] = '', level, elided_levels[greatest(indexOf(elided_refs, {item_id:String}), if(logged.3 = '', 0, indexOf(elided_tool_call_ids, logged.3)))])), toString(policy), elided_reload_refs[greatest(indexOf(elided_refs, {item_id:String}), if(logged.3 = '', 0, indexOf(elided_tool_call_ids, logged.3)))], CAST(map(), 'Map(String, Float64)')
    FROM replacements FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'elision' AND (has(elided_refs, {item_id:String}) OR logged.3 != '' AND has(elided_tool_call_ids, logged.3))
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 9, 'compacted', record_id, NULL, NULL, NULL, tokens_before, tokens_after, toString(trigger), arrayStringConcat(loss_notes, ' · '), toString(method), summary_ref, CAST(map(), 'Map(String, Float64)')
    FROM replacements FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'compaction' AND change = 'completed' AND (has(source_item_refs, {item_id:String}) OR logged.1 BETWEEN first_position AND last_position AND if(source_thread_id = '', thread_id, source_thread_id) = logged.2) AND NOT has(retained_tail_refs, {item_id:String})
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 10, 'redacted', record_id, NULL, NULL, NULL, NULL, NULL, reason, concat(toString(redaction_state), if(method = '', '', concat(' by ', toString(method)))), arrayStringConcat(policy_refs, ', '), replacement_ref, CAST(map(), 'Map(String, Float64)')
    FROM redactions FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND target_ref = {item_id:String}
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 11, concat('missing ', toString(change)), missing_id, NULL, NULL, NULL, NULL, NULL, toString(status), question, toString(severity), requested_from, CAST(map(), 'Map(String, Float64)')
    FROM missing FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String}
    WHERE missing_id IN (SELECT missing_id FROM missing PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND has(candidate_item_refs, {item_id:String}))
    UNION ALL
    SELECT recorded_at, stream_seq, event_time, turn_id, call_id, 12, 'seen', call_id, logged.1, NULL, NULL, NULL, NULL, '', 'projected from the item log', '', '', CAST(map(), 'Map(String, Float64)')
    FROM calls FINAL
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND empty(shown_in.1) AND logged.1 >= window_first AND logged.1 < window_next AND thread_id = logged.2 AND NOT JSONExtractBool(metadata, 'synthetic')
        AND (cut = 0 OR ifNull(sequence, toInt64(stream_seq)) < cut)
    ORDER BY output DESC NULLS LAST, recorded_at, stream_seq
    LIMIT 1 BY tenant, call_id
)
ORDER BY recorded_at, stream_seq, step_order, record
LIMIT {limit:UInt32}
