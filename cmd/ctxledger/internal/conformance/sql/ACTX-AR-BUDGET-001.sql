-- check: limits-and-use
-- expects: the budget's row has the limits, the measured values and the strategy; a missing value is not zero
-- rule: seed 001 ACTX-AR-BUDGET-001, invariant 10
-- applies: run
SELECT
    count() AS looked_at,
    concat(
        'model-a for model by bpe-1: max 8000, reserved 1000, estimated 9600, used 6950 tokens ',
        'in 4 items and unknown bytes, truncate_tail, headroom 50')
        AS expected,
    arrayStringConcat(
        groupArray(
            concat(
                model, ' for ', target, ' by ', estimator, ': max ', ifNull(toString(max_tokens), 'unknown'),
                ', reserved ', ifNull(toString(reserved_tokens), 'unknown'),
                ', estimated ', ifNull(toString(estimated_tokens), 'unknown'), ', used ',
                ifNull(toString(actual_tokens), 'unknown'), ' tokens in ', ifNull(toString(actual_items), 'unknown'),
                ' items and ', ifNull(toString(actual_bytes), 'unknown'), ' bytes, ', overflow_strategy, ', headroom ',
                ifNull(toString(headroom_tokens), 'unknown'))),
        '; ') AS found
FROM budgets
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: truncation-explained
-- expects: each cut item has its tokens before and after and the kind of cut, and the segments list the content of the
--   window
-- rule: seed 001 ACTX-AR-BUDGET-001
-- applies: run
SELECT
    count() AS looked_at,
    'readme 3000 to 500 truncate_tail, log 1200 to 1050 truncate_tail; system 900, files 5000, history 1050'
        AS expected,
    arrayStringConcat(
        groupArray(
            concat(
                arrayStringConcat(
                    arrayMap(
                        (i, b, a, s) -> concat(
                            replaceAll(i, concat('-', {run:String}), ''), ' ', ifNull(toString(b), '?'), ' to ',
                            ifNull(toString(a), '?'), ' ', s),
                        truncated_refs, truncated_before, truncated_after, truncated_strategies),
                    ', '),
                '; ',
                arrayStringConcat(
                    arrayMap((s, t) -> concat(s, ' ', ifNull(toString(t), '?')), segments, segment_tokens), ', '))),
        ' and ') AS found
FROM budgets
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: limit-with-measure
-- expects: every budget has a limit and a measured use, and names a strategy if the prompt did not fit
-- rule: seed 001 ACTX-AR-BUDGET-001
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(
            concat('budget ', budget_id),
            max_tokens IS NULL
                OR actual_tokens IS NULL AND actual_items IS NULL AND actual_bytes IS NULL
                OR overflow_strategy = '' AND ifNull(estimated_tokens > max_tokens - ifNull(reserved_tokens, 0), false)
        ),
        '; ') AS found
FROM budgets
WHERE tenant = {tenant:String} AND session_id = {session_id:String};
