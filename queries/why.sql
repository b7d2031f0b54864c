-- What happened to an item in a session, step by step, and why?
-- Section: What did the model see?
-- First: step, record_id, turn_id, call_id, position, rank, tokens_before, tokens_after, reason
--
-- Rows are in the stream's order. Summaries of the item and gaps about the item are included at all times.
-- The query reads the tables themselves, each once by its key. The server would need more time to plan a
-- dozen views.
--
-- Parameters:
--   tenant      String  id    = ''                    only this tenant; '' means all tenants
--   session_id  String  id    required                the session
--   turn_id     String  id    = ''                    the given turn, for in_turn; the steps of other turns are also
--       listed
--   item_id     String  id    required                the item
--   as_of       String  time  = ''                    state that the ledger knew at this stream time; '' means the
--       current state
--   limit       UInt32  rows  = 10000  [1..100000]    maximum number of rows
-- Columns:
--   recorded_at    time    time at which the stream stored the fact
--   event_time     time    time at which the step happened
--   turn_id        id      the turn; empty outside of turns
--   in_turn        bool    whether the turn is the given turn
--   call_id        id      the model call
--   step           text    the step: added, updated, removed, expired (erased on request), logged, available,
--       considered, selected, omitted, shortened, assembled, injected, withdrawn, elided, reloaded, compacted,
--       redacted, missing detected, missing requested, missing resolved, seen (in a window that was built from
--       the item log)
--   record_id      id      the record of the step: the surface, selection, budget, assembly, injection, pass,
--       compaction, redaction or gap
--   position       count   place in the surface, the window or the item log; 0 is first; NULL if not known
--   rank           count   rank of the candidate, 1 is best; NULL if not given
--   score          score   score of the candidate; NULL if not given
--   tokens_before  tokens  size before the step; of the whole source for a compaction; NULL if not known
--   tokens_after   tokens  size after the step; of the summary for a compaction; NULL if not known
--   reason         text    reason of the step: the withheld part, omission reason, method of the cut, trigger,
--       redaction reason or state of the gap
--   note           text    text of the step, such as title, query, layer, elision level, loss notes or question
--   policy         text    the policy, method or severity that decided
--   stand_in       id      replacement or container: reload location, summary, replacement, assembly, target or owner
--   signals        map     parts of the score, by name
--   incarnation    id      id of the fact's stream
--   stream_seq     count   sequence of the fact in the stream
WITH
-- Sources of logs that another source tells better.
untold AS
(
    SELECT tenant, source
    FROM retold
    WHERE session_id = {session_id:String}
        AND ({as_of:String} = '' OR since <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
),
-- The item's position in the item log, the tool call that it answers, and its entries.
(
    SELECT (
        min(position), any(thread_id), anyIf(tool_call_id, item_type = 'function_call_output'),
        groupUniqArray(
            (
                recorded_at, stream_seq, event_time, turn_id, call_id, log_item_id, position, tokens,
                toString(item_type), incarnation)))
    FROM log_items
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND {item_id:String} IN (log_item_id, item_ref)
        AND (tenant, source) NOT IN (untold)
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
) AS logged,
-- The assemblies that contain the item, and its places in them.
(
    SELECT (
        groupArray(assembly_id),
        groupArray(
            ifNull(
                block_positions[arrayFirstIndex(x -> has(x, {item_id:String}), block_items)],
                arrayFirstIndex(x -> has(x, {item_id:String}), block_items) - 1)))
    FROM
    (
        SELECT assembly_id, block_positions, block_items
        FROM placements
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND record_kind = 'assembly'
            AND base_assembly_id = ''
            AND (tenant, source) NOT IN (untold)
            AND arrayExists(x -> has(x, {item_id:String}), block_items)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
        UNION ALL
        SELECT assembly_id, block_positions, block_items
        FROM based_assemblies
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND (tenant, source) NOT IN (untold)
            AND arrayExists(x -> has(x, {item_id:String}), block_items)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    )
) AS shown_in,
steps AS
(
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, '' AS call, 0 AS step_order,
        toInt64(0) AS order_in_thread, toString(change) AS step, item_id AS record,
        CAST(NULL, 'Nullable(Int64)') AS place, CAST(NULL, 'Nullable(Int64)') AS rank_given,
        CAST(NULL, 'Nullable(Float64)') AS score_given, token_estimate AS before, token_estimate AS after,
        multiIf(reason != '', reason, redaction_state = 'none', '', toString(redaction_state)) AS why,
        if(title = '', toString(context_kind), title) AS words, arrayStringConcat(policy_refs, ', ') AS rule,
        arrayStringConcat(source_uris, ', ') AS other, CAST(map(), 'Map(String, Float64)') AS parts
    FROM items
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND item_id = {item_id:String}
        AND (tenant, source) NOT IN (untold)
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, '', '', 0, 0, 'expired', {item_id:String}, NULL, NULL,
        NULL, NULL, NULL, JSONExtractString(data, 'reason'), '',
        arrayStringConcat(JSONExtract(data, 'policy_refs', 'Array(String)'), ', '), '',
        CAST(map(), 'Map(String, Float64)')
    FROM events
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id IN ('', {session_id:String})
        AND event_type = 'context.erasure.applied'
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
        AND has(
            JSONExtract(data, 'records', 'Array(Tuple(session_id String, item_id String))'),
            ({session_id:String}, {item_id:String}))
        AND (session_id = '' OR NOT startsWith(JSONExtractString(data, 'erased_subject'), 'item:'))
    UNION ALL
    SELECT
        entry.1, entry.10, entry.2, entry.3, entry.4, entry.5, 1, 0, 'logged', entry.6, entry.7, NULL, NULL,
        entry.8, entry.8, '', entry.9, '', '', CAST(map(), 'Map(String, Float64)')
    FROM (SELECT arrayJoin(logged.4) AS entry)
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, call_id,
        multiIf(startsWith(record_kind, 'surface'), 2, decided = 0, 3, 4), 0,
        multiIf(
            startsWith(record_kind, 'surface'), 'available', decided = 0, 'considered', toString(outcomes[decided])),
        if(startsWith(record_kind, 'surface'), surface_id, record_id),
        if(
            startsWith(record_kind, 'surface'), toNullable(toInt64(indexOf(candidate_refs, {item_id:String})) - 1),
            NULL),
        ranks[decided], scores[decided], tokens[decided], tokens[decided], toString(reasons[decided]),
        multiIf(
            startsWith(record_kind, 'surface'), toString(surface_kind), decided > 0, notes[decided], query = '',
            intent, query),
        toString(policy),
        if(startsWith(record_kind, 'surface'), '', surface_id), CAST(signals[decided], 'Map(String, Float64)')
    FROM
    (
        SELECT
            recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, record_kind, record_id, surface_id,
            surface_kind, candidate_refs, outcomes, ranks, scores, tokens, reasons, notes, query, intent, policy,
            signals, if(record_kind = 'selection_completed', indexOf(item_refs, {item_id:String}), 0) AS decided
        FROM decisions
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND if(
                record_kind = 'selection_completed' AND has(item_refs, {item_id:String}), 1,
                has(candidate_refs, {item_id:String})
                    AND (startsWith(record_kind, 'surface') OR NOT has(item_refs, {item_id:String})))
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    )
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, 5, 0, 'shortened', record_id, NULL,
        NULL, NULL, truncated_before[indexOf(truncated_refs, {item_id:String})],
        truncated_after[indexOf(truncated_refs, {item_id:String})],
        toString(truncated_strategies[indexOf(truncated_refs, {item_id:String})]), '', toString(overflow_strategy),
        '', CAST(map(), 'Map(String, Float64)')
    FROM windows
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND record_kind = 'budget'
        AND has(truncated_refs, {item_id:String})
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, if(record_kind = 'assembly', 6, 7), 0,
        multiIf(record_kind = 'assembly', 'assembled', record_kind = 'removal', 'withdrawn', 'injected'),
        if(record_kind = 'assembly', assembly_id, record_id),
        multiIf(
            record_kind = 'assembly', ifNull(block_positions[block], block - 1), has(shown_in.1, assembly_id),
            shown_in.2[indexOf(shown_in.1, assembly_id)], NULL),
        NULL, NULL,
        block_tokens[block], block_tokens[block],
        if(record_kind = 'assembly', toString(block_redactions[block]), removed_by_pass),
        if(
            record_kind = 'assembly', toString(block_layers[block]),
            concat(toString(injection_kind), if(injection_point = '', '', concat(' at ', toString(injection_point))))),
        '',
        multiIf(record_kind = 'assembly', toString(target), record_kind = 'removal', replaced_by, assembly_id),
        CAST(map(), 'Map(String, Float64)')
    FROM
    (
        SELECT
            recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, record_kind, record_id, assembly_id,
            block_positions, block_tokens, block_redactions, block_layers, removed_by_pass, injection_kind,
            injection_point, target, replaced_by,
            arrayFirstIndex(x -> has(x, {item_id:String}), block_items) AS block
        FROM placements
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND record_kind IN ('assembly', 'injection', 'removal')
            AND (tenant, source) NOT IN (untold)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
            AND if(
                record_kind = 'assembly',
                base_assembly_id = '' AND arrayExists(x -> has(x, {item_id:String}), block_items),
                has(item_refs, {item_id:String}) OR has(shown_in.1, assembly_id) AND assembly_id != '')
        UNION ALL
        SELECT
            recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, 'assembly', assembly_id, assembly_id,
            block_positions, block_tokens, block_redactions, block_layers, '', '', '', target, '',
            arrayFirstIndex(x -> has(x, {item_id:String}), block_items)
        FROM based_assemblies
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND (tenant, source) NOT IN (untold)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
            AND arrayExists(x -> has(x, {item_id:String}), block_items)
    )
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, if(record_kind = 'elision', 8, 9),
        ifNull(sequence, toInt64(stream_seq)),
        multiIf(record_kind = 'compaction', 'compacted', change = 'reloaded', 'reloaded', 'elided'),
        record_id, elided_positions[at], NULL, NULL, if(record_kind = 'elision', elided_before[at], tokens_before),
        if(record_kind = 'elision', elided_after[at], tokens_after), toString(trigger),
        if(
            record_kind = 'elision', toString(if(elided_levels[at] = '', level, elided_levels[at])),
            arrayStringConcat(loss_notes, ' · ')),
        toString(if(record_kind = 'elision', policy, method)),
        if(record_kind = 'elision', elided_reload_refs[at], summary_ref), CAST(map(), 'Map(String, Float64)')
    FROM
    (
        SELECT
            recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, sequence, record_kind, record_id,
            change, elided_positions, elided_before, elided_after, elided_levels, elided_reload_refs, tokens_before,
            tokens_after, trigger, level, loss_notes, policy, method, summary_ref,
            multiIf(
                has(elided_refs, {item_id:String}), indexOf(elided_refs, {item_id:String}), logged.3 = '', 0,
                indexOf(elided_tool_call_ids, logged.3)) AS at
        FROM replacements
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND record_kind IN ('elision', 'compaction')
            AND (tenant, source) NOT IN (untold)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
            AND if(
                record_kind = 'elision',
                has(elided_refs, {item_id:String}) OR logged.3 != '' AND has(elided_tool_call_ids, logged.3),
                change = 'completed'
                    AND (
                        has(source_item_refs, {item_id:String})
                            OR logged.1 BETWEEN first_position AND last_position
                                AND if(source_thread_id = '', thread_id, source_thread_id) = logged.2)
                    AND NOT has(retained_tail_refs, {item_id:String}))
    )
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, 10, 0, 'redacted', record_id, NULL,
        NULL, NULL, NULL, NULL, reason,
        concat(toString(redaction_state), if(method = '', '', concat(' by ', toString(method)))),
        arrayStringConcat(policy_refs, ', '), replacement_ref, CAST(map(), 'Map(String, Float64)')
    FROM redactions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND target_ref = {item_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, 11, 0,
        concat('missing ', toString(change)), missing_id, NULL, NULL, NULL, NULL, NULL, toString(status), question,
        toString(severity), requested_from, CAST(map(), 'Map(String, Float64)')
    FROM
    (
        SELECT
            recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, change, missing_id, status,
            question, severity, requested_from,
            max(has(candidate_item_refs, {item_id:String})) OVER (PARTITION BY missing_id) AS names_it
        FROM missing
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    )
    WHERE names_it
    UNION ALL
    SELECT
        recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, 12,
        ifNull(sequence, toInt64(stream_seq)), 'seen', call_id, logged.1, NULL, NULL, NULL, NULL, '',
        'projected from the item log', '', '', CAST(map(), 'Map(String, Float64)')
    FROM calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND empty(shown_in.1)
        AND logged.1 >= window_first
        AND logged.1 < window_next
        AND thread_id = logged.2
        AND NOT JSONExtractBool(metadata, 'synthetic')
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    ORDER BY
        multiIf(
            fidelity = 'wire', 1, fidelity = 'serialized', 2, fidelity = 'stated', 3, fidelity = 'reported', 4,
            fidelity = 'reconstructed' OR startsWith(source, 'urn:ctxledger:import:'), 5, fidelity = '', 3, 6),
        (tenant, source) IN (untold), output DESC NULLS LAST, recorded_at, stream_seq
    LIMIT 1 BY tenant, attempt_id, call_id
)
SELECT
    recorded_at, event_time, turn_id, toBool(turn_id = {turn_id:String} AND turn_id != '') AS in_turn, call AS call_id,
    step, record AS record_id, place AS position, rank_given AS rank, score_given AS score,
    before AS tokens_before, after AS tokens_after, why AS reason, words AS note, rule AS policy, other AS stand_in,
    parts AS signals, toString(incarnation) AS incarnation, stream_seq
FROM
(
    -- cut: time since which a summary replaces the item
    SELECT *, minIf(order_in_thread, step_order = 9) OVER () AS cut
    FROM steps
)
WHERE step_order != 12 OR cut = 0 OR order_in_thread < cut
ORDER BY recorded_at, stream_seq, step_order, record
LIMIT 1 BY incarnation, stream_seq, step_order
LIMIT {limit:UInt32}
