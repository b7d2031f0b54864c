-- One row a model and a stretch of time in which the same prices hold for it.
--
-- A call looks for one row here, and not for the price of each bucket.
--
-- Needs: model_prices.
--
--   model        LowCardinality(String)    text
--   valid_from   DateTime64(9, 'UTC')      time
--   valid_until  DateTime64(9, 'UTC')      time
--   currency     String                    text
--   pattern      String                    text
--   prices       Array(Nullable(Float64))  currency/Mtok
--   source       String                    text           where the price of input was read
CREATE OR REPLACE VIEW model_rates AS
WITH
['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'cache_write', 'output', 'reasoning'] AS buckets,
toDateTime64('1900-01-01', 9, 'UTC') AS ever,
toDateTime64('2260-01-01', 9, 'UTC') AS never,
lists AS
(
    SELECT
        model,
        arraySort(
            p -> p.6,
            groupArray(
                (bucket, valid_from, ifNull(valid_until, never), toNullable(per_million), currency, precedence, pattern,
                source)
            )) AS list
    FROM model_prices
    GROUP BY model
),
stretches AS
(
    SELECT
        model, list, arraySort(arrayDistinct(arrayConcat([ever], list.2, list.3))) AS cuts,
        arrayJoin(arrayZip(cuts, arrayPushBack(arrayPopFront(cuts), never))) AS stretch
    FROM lists
),
held AS
(
    SELECT model, stretch, arrayFilter(p -> p.2 <= stretch.1 AND stretch.1 < p.3, list) AS held
    FROM stretches
    WHERE stretch.1 < stretch.2
),
chosen AS (SELECT model, stretch, held, arrayFirst(p -> p.1 = 'input', held) AS chosen FROM held),
owned AS
(
    SELECT model, stretch, chosen, arrayMap(b -> arrayFirst(p -> p.1 = b AND p.5 = chosen.5, held).4, buckets) AS own
    FROM chosen
)
SELECT
    model, stretch.1 AS valid_from, stretch.2 AS valid_until, chosen.5 AS currency, chosen.7 AS pattern,
    arrayMap(
        (p, b) -> multiIf(
            p IS NOT NULL, p, b = 'reasoning', own[6], b IN ('cache_write_5m', 'cache_write_1h'), own[5], NULL),
        own, buckets) AS prices,
    chosen.8 AS source
FROM owned;
