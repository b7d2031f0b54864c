-- check: gap-can-be-asked-for
-- expects: the gap has its owner, the requested action, a summary for the user, and its result
-- rule: seed 001 ACTX-AR-MISSING-001
-- applies: run
SELECT
    count() AS looked_at,
    concat(
        'owner user, action "grant read access to docs/limits.md, or paste it", ',
        'shown "I cannot read docs/limits.md yet.", resolved by limits, not open, 3 steps')
        AS expected,
    replaceAll(
        arrayStringConcat(
            groupArray(
                concat(
                    'owner ', owner, ', action "', requested_action, '", shown "', user_summary, '", ', status, ' by ',
                    arrayStringConcat(resolution_refs, ' '), if(is_open, ', open, ', ', not open, '), toString(steps),
                    ' steps')),
            '; '),
        concat('-', {run:String}), '') AS found
FROM gaps
WHERE tenant = {tenant:String} AND missing_id = concat('gap-', {run:String});

-- check: life-of-the-gap
-- expects: each step is recorded in its order, with its status
-- rule: seed 001 ACTX-AR-MISSING-001
-- applies: run
SELECT
    count() AS looked_at, 'detected open, requested requested, resolved resolved' AS expected,
    arrayStringConcat(groupArray(line), ', ') AS found
FROM
(
    SELECT concat(change, ' ', status) AS line
    FROM gap_steps
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY event_time
);

-- check: gaps-name-owner-and-action
-- expects: every gap has an owner, a requested action and a summary that is safe to show
-- rule: seed 001 ACTX-AR-MISSING-001
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(concat('gap ', missing_id), owner = '' OR requested_action = '' OR user_summary = ''), '; '
    ) AS found
FROM gaps
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: gap-is-no-permission
-- expects: each step of a gap has a status of the standard, and none of them decides about a permission
-- rule: boundary rule 2
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(
            concat('gap ', missing_id, ': ', status),
            status NOT IN ('open', 'requested', 'waiting', 'resolved', 'declined', 'blocked', 'expired')),
        '; ') AS found
FROM gap_steps
WHERE tenant = {tenant:String} AND session_id = {session_id:String};
