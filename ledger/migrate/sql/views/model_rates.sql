-- One row a model and a stretch of time in which the same prices hold for it.
--
-- A call looks for one row here, and not for the price of each bucket.
--
-- A bucket such as input_above_200k has the price of the whole call once its window has more than 200,000 tokens.
-- Such prices count if they have the pattern of the price of input. A bucket that has a price of its own below
-- the step and none above it has no price there.
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
--   steps        Array(Tuple(Int64, Array(Nullable(Float64))))  currency/Mtok
--       tokens that a window must exceed, and the prices of its call then; the first is -1 and prices
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
    SELECT
        model, stretch, chosen, arrayMap(b -> arrayFirst(p -> p.1 = b AND p.5 = chosen.5, held).4, buckets) AS own,
        arrayFilter(p -> p.5 = chosen.5 AND p.7 = chosen.7, held) AS list,
        arrayMap(
            k -> (
                1000 * k,
                arrayMap(
                    b -> arrayFirst(p -> p.1 = concat(b, '_above_', toString(k), 'k'), list).4, buckets)),
            arraySort(
                arrayDistinct(
                    arrayFilter(k -> k > 0, arrayMap(p -> toInt64OrZero(extract(p.1, '_above_([0-9]+)k$')), list))))
        ) AS above
    FROM chosen
)
SELECT
    model, stretch.1 AS valid_from, stretch.2 AS valid_until, chosen.5 AS currency, chosen.7 AS pattern,
    steps[1].2 AS prices, chosen.8 AS source,
    arrayMap(
        s -> (
            s.1,
            arrayMap(
                (p, was, b) -> multiIf(
                    p IS NOT NULL OR was IS NOT NULL, p, b = 'reasoning', s.2[6],
                    b IN ('cache_write_5m', 'cache_write_1h'), s.2[5], NULL),
                s.2, own, buckets)),
        arrayPushFront(above, (toInt64(-1), own))) AS steps
FROM owned;
