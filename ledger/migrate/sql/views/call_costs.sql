-- One row a model call: its cost as recorded and, beside it, by the price list.
--
-- The price list counts as it was when the call was made. A placeholder is not priced.
--
-- Needs: model_calls, model_rates.
--
--   HEAD
--   thread_order            Int64                   sequence
--   lineage_id              String                  id
--   call_id                 String                  id
--   model                   LowCardinality(String)  text
--   synthetic               UInt8                   flag
--   uncached_input          Nullable(Int64)         tokens
--   cache_read              Nullable(Int64)         tokens
--   cache_write_5m          Nullable(Int64)         tokens
--   cache_write_1h          Nullable(Int64)         tokens
--   cache_write             Nullable(Int64)         tokens
--   cache_written           Nullable(Int64)         tokens
--   output                  Nullable(Int64)         tokens
--   reasoning               Nullable(Int64)         tokens
--   window_tokens           Nullable(Int64)         tokens
--   recomputed_billed       Nullable(Int64)         tokens
--   estimated_tokens        Nullable(Int64)         tokens
--   assembly_id             String                  id
--   system_digest           String                  text
--   tools_digest            String                  text
--   gap_seconds             Nullable(Float64)       seconds
--   cache_lifetime_seconds  Nullable(Int64)         seconds
--   cost                    Nullable(Float64)       currency
--   currency                LowCardinality(String)  text
--   price_ref               String                  id
--   priced_cost             Nullable(Float64)       currency
--   priced_currency         String                  text
--   input_cost              Nullable(Float64)       currency
--   cache_read_cost         Nullable(Float64)       currency
--   cache_write_cost        Nullable(Float64)       currency
--   output_cost             Nullable(Float64)       currency
--   cache_read_price        Nullable(Float64)       currency/Mtok
--   recomputed_price        Nullable(Float64)       currency/Mtok
--   unpriced_buckets        Array(String)           text
--   price_pattern           String                  text
--   price_source            String                  text  where the price of input was read; '' without a price
--   tags                    Array(String)           text
--   partial_buckets         Array(String)           text
--   at_least_cost           Nullable(Float64)       currency
--   cost_lacks              String                  text
CREATE OR REPLACE VIEW call_costs AS
WITH
['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'cache_write', 'output', 'reasoning'] AS buckets,
rates AS
(
    SELECT model, groupArray((valid_from, valid_until, steps, currency, pattern, source)) AS rates
    FROM model_rates
    GROUP BY model
),
listed AS
(
    SELECT
        c.*, arrayFirst(r -> c.event_time >= r.1 AND c.event_time < r.2, l.rates) AS rate,
        arrayLast(s -> ifNull(c.window_tokens, 0) > s.1, rate.3).2 AS held,
        if(notEmpty(held), held, [NULL, NULL, NULL, NULL, NULL, NULL, NULL]) AS prices,
        [uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write, output, reasoning] AS used
    FROM model_calls AS c
    LEFT JOIN rates AS l ON l.model = toString(c.model)
),
valued AS
(
    SELECT
        *,
        arrayMap(
            (n, p, b) -> multiIf(has(partial_buckets, b), NULL, ifNull(n, 0) = 0, 0, n * p / 1000000),
            used, prices, buckets) AS parts,
        uncached_input IS NOT NULL AND output IS NOT NULL AS counted
    FROM listed
)
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, lineage_id, call_id, model, synthetic, uncached_input, cache_read, cache_write_5m, cache_write_1h,
    cache_write, cache_written, output, reasoning, window_tokens, recomputed_billed, estimated_tokens, assembly_id,
    system_digest, tools_digest, gap_seconds, cache_lifetime_seconds, cost, currency, price_ref,
    if(counted AND NOT has(parts, NULL), arraySum(p -> ifNull(p, 0), parts), NULL) AS priced_cost,
    rate.4 AS priced_currency, if(counted, parts[1], NULL) AS input_cost,
    if(counted, parts[2], NULL) AS cache_read_cost,
    if(counted, parts[3] + parts[4] + parts[5], NULL) AS cache_write_cost,
    if(counted, parts[6] + parts[7], NULL) AS output_cost,
    prices[2] AS cache_read_price,
    (parts[1] + parts[3] + parts[4] + parts[5]) * 1000000 / nullIf(recomputed_billed, 0) AS recomputed_price,
    arrayFilter((b, p) -> p IS NULL AND NOT has(partial_buckets, b), buckets, parts) AS unpriced_buckets,
    rate.5 AS price_pattern, rate.6 AS price_source, tags, partial_buckets,
    multiIf(
        priced_cost IS NOT NULL, priced_cost,
        notEmpty(unpriced_buckets), NULL,
        arrayExists((n, p) -> ifNull(n, 0) > 0 AND p IS NOT NULL, used, parts), arraySum(p -> ifNull(p, 0), parts),
        NULL) AS at_least_cost,
    multiIf(synthetic OR priced_cost IS NOT NULL, '', notEmpty(unpriced_buckets), 'price', 'count') AS cost_lacks
FROM valued;
