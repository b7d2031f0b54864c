-- One row a run: what it used itself, and what with all runs below it, every call once.
--
-- A run that only calls name is in it too.
--
-- Costs of several currencies have no sum, so it is NULL.
--
-- Needs: call_costs, scope_records.
--
--   tenant               LowCardinality(String)          id
--   session_id           String                          id
--   root_run_id          String                          id
--   run_id               String                          id
--   parent_run_id        String                          id
--   agent                String                          text
--   thread_id            String                          id
--   scope_kind           String                          text
--   opened_at            Nullable(DateTime64(9, 'UTC'))  time
--   depth                Int64                           count
--   path                 Array(String)                   id        run ids from the root
--   calls                UInt64                          count
--   total_calls          UInt64                          count
--   window_tokens        Nullable(Int64)                 tokens    input of the run's own calls, billed
--   output_tokens        Nullable(Int64)                 tokens
--   cost                 Nullable(Float64)               currency
--       recorded costs of the run's own calls that are known; NULL if none is
--   total_window_tokens  Nullable(Int64)                 tokens
--   total_output_tokens  Nullable(Int64)                 tokens
--   total_cost           Nullable(Float64)               currency
--   priced_cost          Nullable(Float64)               currency
--       by the price list, of the run's own calls that have prices; NULL if none has
--   total_priced_cost    Nullable(Float64)               currency
--   priced_currencies    Array(String)                   text
--   unpriced_calls       UInt64                          count
--   tags                 Array(String)                   text
--   inherited_tags       Array(String)                   text
--   total_at_least_cost  Nullable(Float64)               currency
--       total_priced_cost and what is known of the other calls; NULL if nothing is
--   partial_calls        UInt64                          count
--       calls with a count that is not known or not final; with all runs below it
CREATE OR REPLACE VIEW run_tree AS
WITH
facts AS
(
    SELECT
        tenant, session_id, run_id, toString(parent_run_id) AS parent, toString(root_run_id) AS root,
        toString(agent) AS who, toString(thread_id) AS thread,
        '' AS kind, CAST(NULL, 'Nullable(DateTime64(9, \'UTC\'))') AS at, 1 AS n, window_tokens AS w, output AS o,
        cost AS k, priced_cost AS p, priced_currency AS money,
        CAST([], 'Array(String)') AS own, CAST([], 'Array(String)') AS passed, at_least_cost AS least,
        cost_lacks AS lacks
    FROM call_costs
    WHERE run_id != ''
    UNION ALL
    SELECT
        tenant, session_id, if(record_id = '', run_id, record_id), parent_run_id, root_run_id, agent, thread_id,
        scope_kind, event_time, 0, NULL, NULL, NULL, NULL, '', tags, inherited_tags, NULL, ''
    FROM scope_records
    WHERE record_kind = 'run'
),
sessions AS
(
    SELECT
        tenant, session_id, groupArray((run_id, run)) AS runs,
        mapFromArrays(groupArray(run_id), groupArray(run.1)) AS parents
    FROM
    (
        SELECT
            tenant, session_id, run_id,
            (
                anyIf(parent, parent != ''), anyIf(root, root != ''), anyIf(who, who != ''),
                anyIf(thread, thread != ''), anyIf(kind, kind != ''), min(at), sum(n), sum(w), sum(o), sum(k), sum(p),
                groupUniqArrayIf(money, least IS NOT NULL), countIf(lacks = 'price'),
                arraySort(groupUniqArrayArray(own)), arraySort(groupUniqArrayArray(passed)), sum(least),
                countIf(lacks = 'count')) AS run
        FROM facts
        GROUP BY tenant, session_id, run_id
    )
    GROUP BY tenant, session_id
),
paths AS
(
    SELECT
        tenant, session_id, r.1 AS id, r.2 AS run,
        arrayFold(
            (above, i) -> if(
                parents[above[1]] = '' OR NOT mapContains(parents, parents[above[1]]) OR has(above, parents[above[1]]),
                above, arrayPushFront(above, parents[above[1]])),
            range(least(length(runs), 256)), [r.1]) AS path
    FROM sessions
    ARRAY JOIN runs AS r
)
SELECT
    tenant, session_id, if(r.2 = '', way[1], r.2) AS root_run_id, run_id, r.1 AS parent_run_id, r.3 AS agent,
    r.4 AS thread_id, r.5 AS scope_kind, r.6 AS opened_at, toInt64(length(way)) - 1 AS depth, way AS path, r.7 AS calls,
    total_calls, r.8 AS window_tokens, r.9 AS output_tokens, r.10 AS cost,
    total_window_tokens, total_output_tokens, total_cost,
    if(length(r.12) > 1, NULL, r.11) AS priced_cost,
    if(length(priced_currencies) > 1, NULL, total_priced) AS total_priced_cost, priced_currencies, unpriced_calls,
    r.14 AS tags, r.15 AS inherited_tags,
    if(length(priced_currencies) > 1, NULL, total_least) AS total_at_least_cost, partial_calls
FROM
(
    SELECT
        tenant, session_id, ancestor AS run_id, anyIf(run, id = ancestor) AS r, anyIf(path, id = ancestor) AS way,
        sum(run.7) AS total_calls, sum(run.8) AS total_window_tokens, sum(run.9) AS total_output_tokens,
        sum(run.10) AS total_cost, sum(run.11) AS total_priced,
        arraySort(groupUniqArrayArray(run.12)) AS priced_currencies, sum(run.13) AS unpriced_calls,
        sum(run.16) AS total_least, sum(run.17) AS partial_calls
    FROM paths
    ARRAY JOIN path AS ancestor
    GROUP BY tenant, session_id, ancestor
);
