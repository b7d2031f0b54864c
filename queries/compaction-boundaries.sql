-- Where was the window cut, and what did the next call have to read again?
-- Section: What was shortened or summarised?
-- First: session_id, timestamp, kind, trigger, pre_tokens, tokens_saved, next_call_window
--
-- Two boundaries may precede one call; each boundary is one row. A split elision pass is one boundary.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant                id      the tenant
--   session_id            id      the session
--   thread_id             id      the thread
--   number                count   place among the boundaries of the session; 1 is first
--   line                  count   line of the imported log; NULL if not imported
--   kind                  text    compact_boundary (a summary replaced the window) or microcompact_boundary (an
--       elision pass)
--   uuid                  id      the boundary's own id
--   timestamp             time    time of the boundary
--   trigger               text    trigger that the program reported; otherwise the recorded trigger
--   pre_tokens            tokens  size before the boundary, as the program reported; NULL if not reported
--   logical_parent_uuid   id      the record before the boundary; NULL if not known
--   tokens_saved          tokens  saved tokens, as the program reported; NULL if not reported
--   compacted_tool_ids    count   tool results replaced by stubs; NULL for a summary
--   prev_call_window      tokens  billed window of the thread's previous call; NULL without a previous call
--   next_call_id          id      the thread's next call; NULL without a next call
--   next_call_window      tokens  billed window of the next call
--   next_call_cache_read  tokens  tokens that the next call read from the cache
--   next_call_recomputed  tokens  next_call_window − next_call_cache_read
--   replacement_items     count   items that replaced the window, as the program reported; NULL if not reported
WITH
boundaries AS
(
    SELECT
        tenant, session_id, thread_id, thread_order, event_time, 'compact_boundary' AS kind, compaction_id AS uuid,
        metadata, toString(trigger) AS recorded_trigger, tokens_before AS before,
        CAST(NULL, 'Nullable(Int64)') AS saved, CAST(NULL, 'Nullable(Int64)') AS results
    FROM compactions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'completed'
    UNION ALL
    SELECT
        tenant, session_id, thread_id, thread_order, event_time, 'microcompact_boundary',
        if(JSONExtractString(metadata, 'record_uuid') = '', pass_id, JSONExtractString(metadata, 'record_uuid')),
        metadata, toString(trigger), tokens_before, tokens_saved,
        if(
            JSONHas(metadata, 'compacted_tool_ids'), JSONExtractInt(metadata, 'compacted_tool_ids'),
            toInt64(length(elided_refs)))
    FROM elisions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'applied'
        AND part = 1
),
seen AS
(
    SELECT tenant, session_id, thread_id, thread_order, call_id, window_tokens, cache_read, recomputed_billed
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM boundaries))
        AND NOT synthetic
        AND NOT JSONExtractBool(metadata, 'background')
)
SELECT
    b.tenant AS tenant, b.session_id AS session_id, b.thread_id AS thread_id,
    row_number() OVER (PARTITION BY b.tenant, b.session_id ORDER BY b.event_time, b.thread_order) AS number,
    if(JSONHas(b.metadata, 'line'), JSONExtractInt(b.metadata, 'line'), NULL) AS line, b.kind AS kind, b.uuid AS uuid,
    b.event_time AS timestamp,
    if(
        JSONExtractString(b.metadata, 'trigger') = '', b.recorded_trigger, JSONExtractString(b.metadata, 'trigger')
    ) AS trigger,
    if(JSONHas(b.metadata, 'pre_tokens'), JSONExtractInt(b.metadata, 'pre_tokens'), b.before) AS pre_tokens,
    nullIf(JSONExtractString(b.metadata, 'logical_parent_uuid'), '') AS logical_parent_uuid, b.saved AS tokens_saved,
    b.results AS compacted_tool_ids, p.window_tokens AS prev_call_window, nullIf(n.call_id, '') AS next_call_id,
    n.window_tokens AS next_call_window, n.cache_read AS next_call_cache_read,
    n.recomputed_billed AS next_call_recomputed,
    if(
        JSONHas(b.metadata, 'replacement_items'), JSONExtractInt(b.metadata, 'replacement_items'), NULL
    ) AS replacement_items
FROM boundaries AS b
ASOF LEFT JOIN seen AS p
    ON p.tenant = b.tenant
        AND p.session_id = b.session_id
        AND p.thread_id = b.thread_id
        AND p.thread_order < b.thread_order
ASOF LEFT JOIN seen AS n
    ON n.tenant = b.tenant
        AND n.session_id = b.session_id
        AND n.thread_id = b.thread_id
        AND n.thread_order > b.thread_order
ORDER BY tenant, session_id, number
