-- How are the calls of a session known, and where do several records of a call differ?
-- Section: Is the ledger sound?
-- First: call, fidelity, sources, differs
--
-- The query reads the table itself, since the view model_calls has only the records that count. A call that a
-- slice of a log cut counts once: another slice tells it under another id.
--
-- Parameters:
--   tenant      String  id    = ''                  only this tenant; '' means all tenants
--   session_id  String  id    = ''                  only this session; '' means all sessions
--   limit       UInt32  rows  = 1000  [1..1000000]  maximum number of rows
-- Columns:
--   tenant            id     the tenant
--   session_id        id     the session
--   attempt_id        id     the attempt; empty for none
--   call              id     the provider's message id, or else the id of the call
--   fidelity          text   how the record that counts is known
--   coverage          text   whether that record has all that the model received; empty if unknown
--   coverage_reasons  text   why its coverage is partial
--   sources           count  producers that recorded the call
--   differs           text   values that two records know and that differ; empty if they agree
--   known             text   how each record is known, the one that counts first
WITH
told AS
(
    SELECT
        tenant, session_id, attempt_id, source, output, recorded_at, stream_seq, coverage, coverage_reasons,
        if(provider_message_id = '', call_id, provider_message_id) AS message,
        multiIf(
            fidelity != '', toString(fidelity), startsWith(source, 'urn:ctxledger:import:'), 'reconstructed', 'stated'
        ) AS known,
        [
            nullIf(toString(model), ''), toString(uncached_input), toString(cache_read), toString(cache_write_5m),
            toString(cache_write_1h), toString(cache_write), toString(output), toString(reasoning),
            toString(window_tokens), nullIf(toString(stop_reason), '')] AS said,
        (tenant, session_id, source) IN (SELECT tenant, session_id, source FROM retold) AS told_better,
        (tenant, session_id, concat(toString(source), '#', call_id)) IN (
            SELECT tenant, session_id, source FROM retold) AS elsewhere
    FROM calls
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
    LIMIT 1 BY incarnation, stream_seq
),
ordered AS
(
    SELECT
        tenant, session_id, attempt_id, message, uniqExact(source) AS sources,
        arraySort(
            r -> (
                r.9, (indexOf(['wire', 'serialized', 'stated', 'reported', 'reconstructed'], r.1) + 5) % 6, r.8,
                -ifNull(r.5, -1), r.6),
            groupArray(
                (
                    known, toString(coverage), coverage_reasons, said, output, recorded_at, source, told_better,
                    elsewhere))
        ) AS records
    FROM told
    GROUP BY tenant, session_id, attempt_id, message
    HAVING NOT min(elsewhere)
)
SELECT
    tenant, session_id, attempt_id, message AS call, records[1].1 AS fidelity, records[1].2 AS coverage,
    records[1].3 AS coverage_reasons, sources,
    arrayFilter(
        (name, n) -> arrayUniq(arrayFilter(v -> v IS NOT NULL, arrayMap(r -> r.4[n], arrayFilter(
            (r, i) -> i = 1 OR r.7 != records[1].7, records, arrayEnumerate(records))))) > 1,
        [
            'model', 'uncached_input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'cache_write', 'output',
            'reasoning', 'window_tokens', 'stop_reason'],
        range(1, 11)) AS differs,
    arrayDistinct(arrayMap(r -> r.1, records)) AS known
FROM ordered
ORDER BY tenant, session_id, attempt_id, call
LIMIT {limit:UInt32}
