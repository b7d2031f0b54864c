-- One row a model of the built-in list: its prices and limits as providers published them on listed_on.
--
-- A price of 0 is not known. cache_write is the price of a lifetime of 5 minutes. Some providers charge
-- more for the whole call once its window exceeds step tokens; above has these prices.
--
-- The list is one text with a line a model and the columns in the order below, without listed_on. Columns that
-- a line lacks are 0. Each query about costs plans this view, and the server takes twice as long to plan an
-- array of tuples.
--
-- Needs: nothing.
--
--   model              String   text            a model's name; a date may follow it
--   listed_on          String   text            day of the list
--   input              Float64  currency/Mtok   USD
--   cache_read         Float64  currency/Mtok   USD
--   cache_write        Float64  currency/Mtok   USD
--   cache_write_1h     Float64  currency/Mtok   USD
--   output             Float64  currency/Mtok   USD
--   max_input_tokens   UInt32   tokens
--   max_output_tokens  UInt32   tokens
--   step               UInt32   tokens          0 for a model with one price
--   above              Array(Float64)  currency/Mtok  USD: input, cache_read, cache_write, cache_write_1h and output
CREATE OR REPLACE VIEW built_in_models AS
WITH '
claude-fable-5       10     1  12.5 20   50 1000000 128000
claude-haiku-4-5      1   0.1  1.25  2    5  200000  64000
claude-opus-4        15   1.5 18.75 30   75  200000  32000
claude-opus-4-1      15   1.5 18.75 30   75  200000  32000
claude-opus-4-5       5   0.5  6.25 10   25  200000  64000
claude-opus-4-6       5   0.5  6.25 10   25 1000000 128000
claude-opus-4-7       5   0.5  6.25 10   25 1000000 128000
claude-opus-4-8       5   0.5  6.25 10   25 1000000 128000
claude-opus-5         5   0.5  6.25 10   25 1000000 128000
claude-sonnet-4       3   0.3  3.75  6   15 1000000  64000 200000  6 0.6  7.5  0 22.5
claude-sonnet-4-5     3   0.3  3.75  6   15  200000  64000 200000  6 0.6  7.5 12 22.5
claude-sonnet-4-6     3   0.3  3.75  6   15 1000000  64000
claude-sonnet-5       2   0.2   2.5  4   10 1000000 128000
gpt-5              1.25 0.125     0  0   10  272000 128000
gpt-5-codex        1.25 0.125     0  0   10  272000 128000
gpt-5-mini         0.25 0.025     0  0    2  272000 128000
gpt-5-nano         0.05 0.005     0  0  0.4  272000 128000
gpt-5.1            1.25 0.125     0  0   10  272000 128000
gpt-5.1-codex      1.25 0.125     0  0   10  272000 128000
gpt-5.1-codex-max  1.25 0.125     0  0   10  272000 128000
gpt-5.1-codex-mini 0.25 0.025     0  0    2  272000 128000
gpt-5.2            1.75 0.175     0  0   14  272000 128000
gpt-5.2-codex      1.75 0.175     0  0   14  272000 128000
gpt-5.3-codex      1.75 0.175     0  0   14  272000 128000
gpt-5.4             2.5  0.25     0  0   15 1050000 128000 272000  5 0.5    0  0 22.5
gpt-5.4-mini       0.75 0.075     0  0  4.5  400000 128000
gpt-5.4-nano        0.2  0.02     0  0 1.25  400000 128000
gpt-5.5               5   0.5     0  0   30 1050000 128000 272000 10   1    0  0   45
gpt-5.6               5   0.5  6.25  0   30 1050000 128000 272000 10   1 12.5  0   45
' AS list
SELECT
    w[1] AS model, '2026-07-24' AS listed_on, toFloat64(w[2]) AS input, toFloat64(w[3]) AS cache_read,
    toFloat64(w[4]) AS cache_write, toFloat64(w[5]) AS cache_write_1h, toFloat64(w[6]) AS output,
    toUInt32(w[7]) AS max_input_tokens, toUInt32(w[8]) AS max_output_tokens, toUInt32(w[9]) AS step,
    arrayMap(price -> toFloat64(price), arraySlice(w, 10)) AS above
FROM (SELECT arrayResize(splitByWhitespace(arrayJoin(splitByChar('\n', trimBoth(list, '\n')))), 14, '0') AS w);
