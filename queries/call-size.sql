-- How large was the window of a call, what was its limit, and what was left out?
-- Section: What did the model see?
--
-- The query reads the tables themselves, each once by its key.
--
-- Parameters:
--   tenant      String  id    = ''      only this tenant; '' means all tenants
--   session_id  String  id    required  the session
--   call_id     String  id    required  the model call
--   attempt_id  String  id    = ''      only this attempt; '' means all attempts with the call
--   as_of       String  time  = ''      state that the ledger knew at this stream time; '' means the current state
-- Columns:
--   model             text    the model
--   max_tokens        tokens  limit of the model's window; NULL if not known
--   reserved_tokens   tokens  tokens of the limit that are kept free for the answer; NULL if not known
--   billed_tokens     tokens  window that the provider billed; NULL if not known
--   cache_read        tokens  tokens of the billed window that were read from the cache; NULL if not known
--   output_tokens     tokens  billed tokens of the answer; NULL if not known
--   omitted           count   candidates of the call that were left out
--   omitted_tokens    tokens  tokens of the omitted candidates with a known size; NULL if no size is known
--   omitted_unknown   count   omitted candidates without a known size
--   omission_reasons  text    reasons of the omissions, the most frequent first
--   omitted_by        count   omitted candidates by reason, in the order of omission_reasons
--   shortened_refs    id      items that were cut to fit the budget
--   shortened_before  tokens  tokens before the cut, in the order of shortened_refs
--   shortened_after   tokens  tokens after the cut, in the order of shortened_refs
--   shortened_how     text    method of the cut, in the order of shortened_refs
--   redacted_refs     id      items of the session that were withheld
--   redacted_states   text    state of their content, in the order of redacted_refs
--   redacted_policies  text    policies of the redaction, separated by commas
--   redacted_stand_in  id      replacement for the item
WITH
-- Sources of logs that another source tells better, and records of calls that another slice of the log tells.
untold AS
(
    SELECT tenant, source
    FROM retold
    WHERE session_id = {session_id:String}
        AND ({as_of:String} = '' OR since <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
),
(
    SELECT (
        max(model), max(max_tokens), max(reserved_tokens), groupArrayArray(truncated_refs),
        arrayFlatten(groupArray(truncated_before)), arrayFlatten(groupArray(truncated_after)),
        groupArrayArray(truncated_strategies))
    FROM
    (
        SELECT
            model, max_tokens, reserved_tokens, truncated_refs, truncated_before, truncated_after, truncated_strategies
        FROM windows
        PREWHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND record_kind = 'budget'
            AND call_id = {call_id:String}
            AND {attempt_id:String} IN ('', attempt_id)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
        LIMIT 1 BY incarnation, stream_seq
    )
) AS budget,
(
    SELECT max(
        (
            (tenant, concat(toString(source), '#', call_id)) NOT IN (untold),
            -multiIf(
                fidelity = 'wire', 1, fidelity = 'serialized', 2, fidelity = 'stated', 3, fidelity = 'reported', 4,
                fidelity = 'reconstructed' OR startsWith(source, 'urn:ctxledger:import:'), 5, fidelity = '', 3, 6),
            (tenant, source) NOT IN (untold),
            ifNull(output, -1), model, window_tokens, cache_read, output))
    FROM calls
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND call_id = {call_id:String}
        AND {attempt_id:String} IN ('', attempt_id)
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
) AS bill,
(
    SELECT (count(), sum(size), countIf(size IS NULL), groupArray(why))
    FROM
    (
        SELECT c.1 AS item, max(c.3) AS size, anyIf(c.4, c.2 = 'omitted') AS why
        FROM decisions
        ARRAY JOIN arrayZip(item_refs, outcomes, tokens, reasons) AS c
        PREWHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND record_kind = 'selection_completed'
            AND call_id = {call_id:String}
            AND {attempt_id:String} IN ('', attempt_id)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
        GROUP BY item
        HAVING countIf(c.2 = 'selected') = 0
    )
) AS choice,
(
    SELECT (
        groupArray(target_ref), groupArray(toString(redaction_state)), groupArray(arrayStringConcat(policy_refs, ', ')),
        groupArray(replacement_ref))
    FROM
    (
        SELECT target_ref, redaction_state, policy_refs, replacement_ref
        FROM redactions
        PREWHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
        LIMIT 1 BY incarnation, stream_seq
    )
) AS withheld
SELECT
    if(bill.5 = '', budget.1, bill.5) AS model, budget.2 AS max_tokens, budget.3 AS reserved_tokens,
    bill.6 AS billed_tokens, bill.7 AS cache_read, bill.8 AS output_tokens,
    choice.1 AS omitted, choice.2 AS omitted_tokens, choice.3 AS omitted_unknown,
    arrayReverseSort(r -> countEqual(choice.4, r), arraySort(arrayDistinct(choice.4))) AS omission_reasons,
    arrayMap(r -> countEqual(choice.4, r), omission_reasons) AS omitted_by,
    budget.4 AS shortened_refs, budget.5 AS shortened_before, budget.6 AS shortened_after, budget.7 AS shortened_how,
    withheld.1 AS redacted_refs, withheld.2 AS redacted_states, withheld.3 AS redacted_policies,
    withheld.4 AS redacted_stand_in
