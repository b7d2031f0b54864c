-- Which model calls were recorded by several sources, and which record counts?
-- Section: Is the ledger sound?
-- First: call, counts, fidelity, source, differs, window_tokens, output_tokens
--
-- Records are of one call if they have the same message id of the provider. The id of a call counts as the
-- message id where a record has none. The best known record counts in all sums. The others stay in the ledger.
-- A call with one record that does not count was cut by a slice of a log. Another slice tells it under another id.
-- The query reads the table itself, since the view model_calls has only the records that count.
--
-- Parameters:
--   tenant      String  id    = ''                  only this tenant; '' means all tenants
--   session_id  String  id    = ''                  only this session; '' means all sessions
--   limit       UInt32  rows  = 1000  [1..1000000]  maximum number of rows
-- Columns:
--   tenant            id      the tenant
--   session_id        id      the session
--   attempt_id        id      the attempt; empty for none
--   call              id      the provider's message id, or else the id of the call
--   call_id           id      id of the call in the record
--   counts            bool    whether the record counts
--   fidelity          text    how the record is known: wire, serialized, stated, reported or reconstructed
--   coverage          text    whether it has all that the model received; empty if unknown
--   coverage_reasons  text    why the coverage is partial
--   source            text    the producer
--   model             text    the model
--   window_tokens     tokens  billed input; NULL if not known
--   output_tokens     tokens  billed output; NULL if not known
--   differs           text    values that differ from those of the record that counts; empty if they agree
--   recorded_at       time    time at which the stream stored the record
WITH
told AS
(
    SELECT
        tenant, session_id, attempt_id, call_id, source, model, window_tokens, output, recorded_at,
        stream_seq, coverage, coverage_reasons, if(provider_message_id = '', call_id, provider_message_id) AS message,
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
compared AS
(
    SELECT
        *, uniqExact(source) OVER (PARTITION BY tenant, session_id, attempt_id, message) AS sources,
        row_number() OVER best AS version, first_value((source, said)) OVER best AS counting
    FROM told
    WINDOW best AS (
        PARTITION BY tenant, session_id, attempt_id, message
        ORDER BY
            elsewhere, (indexOf(['wire', 'serialized', 'stated', 'reported', 'reconstructed'], known) + 5) % 6,
            told_better, output DESC NULLS LAST, recorded_at, stream_seq)
)
SELECT
    tenant, session_id, attempt_id, message AS call, call_id, toBool(version = 1 AND NOT elsewhere) AS counts,
    known AS fidelity, toString(coverage) AS coverage, coverage_reasons, source, model, window_tokens,
    output AS output_tokens,
    if(
        source = counting.1, [],
        arrayFilter(
            (name, mine, best) -> ifNull(mine != best, false),
            [
                'model', 'uncached_input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'cache_write', 'output',
                'reasoning', 'window_tokens', 'stop_reason'],
            said, counting.2)) AS differs,
    recorded_at
FROM compared
WHERE sources > 1 OR elsewhere
ORDER BY tenant, session_id, attempt_id, call, version
LIMIT {limit:UInt32}
