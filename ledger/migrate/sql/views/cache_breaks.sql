-- The calls of cache_bill that have a predecessor in their lineage.
--
-- Needs: cache_bill.
--
--   HEAD
--   thread_order            Int64                   sequence
--   lineage_id              String                  id
--   call_id                 String                  id
--   model                   LowCardinality(String)  text
--   previous_call_id        String                  id
--   previous_model          String                  text
--   window_tokens           Nullable(Int64)         tokens
--   previous_window_tokens  Nullable(Int64)         tokens
--   cache_read              Nullable(Int64)         tokens
--   cache_written           Nullable(Int64)         tokens
--   recomputed_billed       Nullable(Int64)         tokens
--   reusable_tokens         Nullable(Int64)         tokens
--   lost_tokens             Nullable(Int64)         tokens
--   recomputed_expected     Nullable(Int64)         tokens
--   new_tokens              Nullable(Int64)         tokens
--   penalty_tokens          Nullable(Int64)         tokens
--   gap_seconds             Nullable(Float64)       seconds
--   cache_lifetime_seconds  Nullable(Int64)         seconds
--   cause                   String                  text
--   cost                    Nullable(Float64)       currency
--   currency                LowCardinality(String)  text
--   prefix_tokens           Nullable(Int64)         tokens
--   lost_expected           Nullable(Int64)         tokens
--   broken_billed           Nullable(Int64)         tokens
--   unbroken_billed         Nullable(Int64)         tokens
--   priced_cost             Nullable(Float64)       currency
--   priced_currency         String                  text
--   break_cost              Nullable(Float64)       currency
--   unbroken_cost           Nullable(Float64)       currency
--   cache_miss_reason       LowCardinality(String)  text
--   at_least_cost           Nullable(Float64)       currency
--   cost_lacks              String                  text
CREATE OR REPLACE VIEW cache_breaks AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, lineage_id, call_id, model, previous_call_id, previous_model, window_tokens, previous_window_tokens,
    cache_read, cache_written, recomputed_billed, reusable_tokens, lost_tokens, recomputed_expected, new_tokens,
    penalty_tokens, gap_seconds, cache_lifetime_seconds, cause, cost, currency, prefix_tokens, lost_expected,
    broken_billed, unbroken_billed, priced_cost, priced_currency, break_cost, unbroken_cost,
    cache_miss_reason, at_least_cost, cost_lacks
FROM cache_bill
WHERE number > 1;
