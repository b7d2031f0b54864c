-- How large were the windows of sessions from first to last, and what is the limit?
-- Section: What was used?
-- First: session_id, peak_tokens, limit_tokens, billed, peaks
--
-- The list of sessions draws a small line for each session from this query. A long session has the largest
-- window of each part of its calls. The query reads the table itself, by its filter on sessions.
--
-- Parameters:
--   tenant    String  id    = ''                  only this tenant; '' means all tenants
--   sessions  String  text  = ''                  ids of sessions, as a JSON array of strings; '' means all sessions
--   limit     UInt32  rows  = 10000  [1..100000]  maximum number of rows
-- Columns:
--   tenant        id      the tenant
--   session_id    id      the session
--   calls         count   calls whose window is known
--   billed        bool    whether a call has a billed window; otherwise the sizes are estimates
--   peak_tokens   tokens  largest window; NULL if none is known
--   limit_tokens  tokens  limit of the model's window by the budgets, or else the largest by the limits of models;
--       NULL if not known
--   peaks         tokens  largest windows of up to 40 parts of the session, in order
WITH
told AS
(
    SELECT
        tenant, session_id, toString(model) AS model, event_time, ifNull(sequence, toInt64(stream_seq)) AS at,
        window_tokens, coalesce(window_tokens, estimated_tokens) AS size
    FROM calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND (
            {sessions:String} = ''
                OR session_id IN (SELECT arrayJoin(JSONExtract({sessions:String}, 'Array(String)'))))
        AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
    LIMIT 1 BY incarnation, stream_seq
),
known AS
(
    SELECT mapFromArrays(groupArray(model), groupArray(toInt64(ifNull(max_input_tokens, 0)))) AS limits
    FROM model_limits
),
kept AS
(
    SELECT tenant, session_id, max(max_tokens) AS max_tokens
    FROM windows
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND (
            {sessions:String} = ''
                OR session_id IN (SELECT arrayJoin(JSONExtract({sessions:String}, 'Array(String)'))))
        AND record_kind = 'budget'
        AND target IN ('', 'model')
    GROUP BY tenant, session_id
),
summed AS
(
    SELECT
        tenant, session_id, countIf(window_tokens IS NOT NULL) > 0 AS billed, max(size) AS peak_tokens,
        groupUniqArray(model) AS models,
        arraySort(groupArrayIf((event_time, at, assumeNotNull(size)), size IS NOT NULL)).3 AS sizes,
        length(sizes) AS calls, least(40, calls) AS parts
    FROM told
    GROUP BY tenant, session_id
)
SELECT
    s.tenant AS tenant, s.session_id AS session_id, s.calls AS calls, toBool(s.billed) AS billed,
    s.peak_tokens AS peak_tokens,
    nullIf(coalesce(k.max_tokens, arrayMax(m -> (SELECT limits FROM known)[m], s.models)), 0) AS limit_tokens,
    arrayMap(
        n -> arrayMax(
            arraySlice(
                s.sizes, intDiv(n * s.calls, s.parts) + 1,
                intDiv((n + 1) * s.calls, s.parts) - intDiv(n * s.calls, s.parts))),
        range(s.parts)) AS peaks
FROM summed AS s
LEFT JOIN kept AS k ON k.tenant = s.tenant AND k.session_id = s.session_id
ORDER BY tenant, session_id
LIMIT {limit:UInt32}
