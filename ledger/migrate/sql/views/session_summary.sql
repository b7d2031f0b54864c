-- One row a session.
--
-- The view reads the table of events. Most columns of recorded_events would be planned
-- for nothing, which takes longer than to read the rows of a session.
--
-- Importers of logs without times count facts in microseconds from 1970. Such a time is no time.
--
-- Overlapping slices of a log share records, whose facts have the same ids and count once.
--
-- Needs: call_costs, events, retold, scopes.
--
--   tenant             LowCardinality(String)  id
--   session_id         String                  id
--   agents             Array(String)           text
--   models             Array(String)           text
--   started_at         Nullable(DateTime64(9, 'UTC'))  time  NULL where the log of the session has no times
--   ended_at           Nullable(DateTime64(9, 'UTC'))  time  the same
--   events             UInt64                  count
--   turns              UInt64                  count
--   runs               UInt64                  count
--   threads            UInt64                  count
--   calls              UInt64                  count
--   uncached_input     Nullable(Int64)         tokens
--   cache_read         Nullable(Int64)         tokens
--   cache_written      Nullable(Int64)         tokens
--   output             Nullable(Int64)         tokens
--   cost               Nullable(Float64)       currency  recorded costs that are known; NULL if none is
--   currencies         Array(String)           text
--   priced_cost        Nullable(Float64)       currency
--       by the price list, of the calls that have prices; NULL if none has, or if they are of several currencies
--   priced_currencies  Array(String)           text
--   unpriced_calls     UInt64                  count
--   max_window_tokens  Nullable(Int64)         tokens
--   items              UInt64                  count     distinct context items
--   log_entries        UInt64                  count
--   selections         UInt64                  count
--   injections         UInt64                  count
--   compactions        UInt64                  count
--   elisions           UInt64                  count
--   summaries          UInt64                  count
--   redactions         UInt64                  count
--   gaps               UInt64                  count
--   facts_dropped      UInt64                  count
--   price_sources      Array(String)           text      where the prices of at_least_cost were read
--   at_least_cost      Nullable(Float64)       currency
--       priced_cost and what is known of the other calls; NULL if nothing is, or in several currencies
--   partial_calls      UInt64                  count     calls with a count that is not known or not final
--   cost_complete      Bool                    bool      whether at_least_cost lacks nothing
CREATE OR REPLACE VIEW session_summary AS
SELECT
    tenant, session_id, groupUniqArrayIf(agent, agent != '') AS agents, groupUniqArrayIf(model, model != '') AS models,
    minOrNullIf(at, at >= toDateTime64('1971-01-01', 9, 'UTC')) AS started_at,
    maxOrNullIf(at, at >= toDateTime64('1971-01-01', 9, 'UTC')) AS ended_at,
    toUInt64(countIf(kind NOT IN ('', 'shared')) - sum(shared)) AS events,
    uniqExactIf(turn_id, turn_id != '') AS turns, uniqExactIf(run_id, run_id != '') AS runs,
    uniqExactIf(thread_id, thread_id != '') AS threads,
    countIf(kind = '') AS calls, sum(call.1) AS uncached_input, sum(call.2) AS cache_read, sum(call.3) AS cache_written,
    sum(call.4) AS output, sum(call.5) AS cost, groupUniqArrayIf(currency, currency != '') AS currencies,
    if(length(priced_currencies) > 1, NULL, sumIf(call.7, priced_currency != '')) AS priced_cost,
    arraySort(groupUniqArrayIf(priced_currency, call.8 IS NOT NULL AND priced_currency != '')) AS priced_currencies,
    countIf(cost_lacks = 'price') AS unpriced_calls, max(call.6) AS max_window_tokens,
    uniqExactIf(subject, kind IN ('context.item.added', 'context.item.updated')) AS items,
    uniqExactIf((attempt_id, thread_id, subject), kind = 'context.log.appended') AS log_entries,
    uniqExactIf((attempt_id, subject), kind = 'context.selection.completed') AS selections,
    uniqExactIf((attempt_id, subject), kind = 'context.injection.applied') AS injections,
    uniqExactIf((attempt_id, subject), kind = 'context.compaction.completed') AS compactions,
    uniqExactIf((attempt_id, subject), kind = 'context.elision.applied') AS elisions,
    uniqExactIf((attempt_id, subject), kind = 'context.summary.created') AS summaries,
    uniqExactIf((attempt_id, subject), kind = 'context.redaction.applied') AS redactions,
    uniqExactIf(subject, kind = 'context.missing.detected') AS gaps,
    countIf(kind = 'context.facts.dropped') AS facts_dropped,
    arraySort(groupUniqArrayIf(price_source, call.8 IS NOT NULL AND price_source != '')) AS price_sources,
    if(length(priced_currencies) > 1, NULL, sumIf(call.8, priced_currency != '')) AS at_least_cost,
    countIf(cost_lacks = 'count') AS partial_calls, toBool(unpriced_calls = 0 AND partial_calls = 0) AS cost_complete
FROM
(
    SELECT
        tenant, session_id, toString(agent) AS agent, '' AS model, event_time AS at, toString(event_type) AS kind,
        turn_id, run_id, thread_id, attempt_id, subject, CAST((NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), 'Tuple(
                Nullable(Int64), Nullable(Int64), Nullable(Int64), Nullable(Int64), Nullable(Float64),
                Nullable(Int64), Nullable(Float64), Nullable(Float64))') AS call,
        '' AS currency, '' AS priced_currency, '' AS price_source, '' AS cost_lacks, toUInt64(0) AS shared
    FROM events FINAL
    WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
    UNION ALL
    SELECT
        tenant, session_id, '', '', toDateTime64(0, 9, 'UTC'), 'shared', '', '', '', '', '',
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), '', '', '', '', toUInt64(count() - uniqExact(event_id))
    FROM events FINAL
    WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
        AND startsWith(source, 'urn:ctxledger:import:')
        AND (tenant, session_id) IN (
            SELECT tenant, session_id
            FROM scopes
            WHERE multiSearchAny(toString(source), [':from:', ':counts:'])
                AND startsWith(source, 'urn:ctxledger:import:'))
    GROUP BY tenant, session_id
    UNION ALL
    SELECT
        tenant, session_id, toString(agent), toString(model), event_time, '', turn_id, run_id, thread_id, '', '',
        (uncached_input, cache_read, cache_written, output, cost, window_tokens, priced_cost, at_least_cost),
        toString(currency), priced_currency, price_source, cost_lacks, toUInt64(0)
    FROM call_costs
)
GROUP BY tenant, session_id
SETTINGS do_not_merge_across_partitions_select_final = 1;
