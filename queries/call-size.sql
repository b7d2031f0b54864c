-- How large was the window of a call, how large could it be, and what did not come into it?
-- Section: What did the model see?
--
-- It reads the tables themselves, each once by its key.
--
-- Parameters:
--   tenant      String  id    = ''      only this tenant; '' is all
--   session_id  String  id    required  the session
--   call_id     String  id    required  the model call
--   attempt_id  String  id    = ''      the attempt; '' is all that have the call
--   as_of       String  time  = ''      as the ledger knew it then, by the stream's time; '' is all that it knows
-- Columns:
--   model             text    the model
--   max_tokens        tokens  of the model's window; NULL if not known
--   reserved_tokens   tokens  of it that are kept free for the answer; NULL if not known
--   billed_tokens     tokens  the window that the provider billed; NULL if not known
--   cache_read        tokens  of the billed window that were read from the cache; NULL if not known
--   output_tokens     tokens  the answer, billed; NULL if not known
--   omitted           count   candidates of the call that were left out
--   omitted_tokens    tokens  of those whose size is known; NULL where none is
--   omitted_unknown   count   of those whose size is not known
--   omission_reasons  text    why they were left out, the commonest first
--   omitted_by        count   candidates by reason, beside omission_reasons
--   shortened_refs    id      items that were cut to fit the budget
--   shortened_before  tokens  before the cut, beside shortened_refs
--   shortened_after   tokens  after it
--   shortened_how     text    how they were cut
--   redacted_refs     id      items of the session that were withheld
--   redacted_states   text    what is left of them, beside redacted_refs
--   redacted_policies  text    under which policies, with commas between
--   redacted_stand_in  id      what stands there instead
WITH
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
    SELECT max((ifNull(output, -1), model, window_tokens, cache_read, output))
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
    if(bill.2 = '', budget.1, bill.2) AS model, budget.2 AS max_tokens, budget.3 AS reserved_tokens,
    bill.3 AS billed_tokens, bill.4 AS cache_read, bill.5 AS output_tokens,
    choice.1 AS omitted, choice.2 AS omitted_tokens, choice.3 AS omitted_unknown,
    arrayReverseSort(r -> countEqual(choice.4, r), arraySort(arrayDistinct(choice.4))) AS omission_reasons,
    arrayMap(r -> countEqual(choice.4, r), omission_reasons) AS omitted_by,
    budget.4 AS shortened_refs, budget.5 AS shortened_before, budget.6 AS shortened_after, budget.7 AS shortened_how,
    withheld.1 AS redacted_refs, withheld.2 AS redacted_states, withheld.3 AS redacted_policies,
    withheld.4 AS redacted_stand_in
