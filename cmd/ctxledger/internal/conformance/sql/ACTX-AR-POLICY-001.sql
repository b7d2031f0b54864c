-- check: item-keeps-its-redaction
-- expects: the item's row has state, reason and policy of its redaction
-- rule: seed 001 ACTX-AR-POLICY-001
-- applies: run
SELECT
    count() AS looked_at, 'removed, "holds a password", [\'policy:secrets/v3\']' AS expected,
    arrayStringConcat(
        groupArray(concat(redaction_state, ', "', redaction_reason, '", ', toString(policy_refs))), '; ') AS found
FROM item_versions
WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND item_id = concat('config-', {run:String});

-- check: redaction-is-a-fact
-- expects: the redaction is a separate record with target, method, reason, policy and actor
-- rule: seed 001 ACTX-AR-POLICY-001, boundary rule 5
-- applies: run
SELECT
    count() AS looked_at,
    'config removed by pattern: [\'/database/password\'], "holds a password", [\'policy:secrets/v3\'], secret-scanner'
        AS expected,
    replaceAll(
        arrayStringConcat(
            groupArray(
                concat(
                    target_ref, ' ', redaction_state, ' by ', method, ': ', toString(redacted_fields), ', "', reason,
                    '", ', toString(policy_refs), ', ', actor)),
            '; '),
        concat('-', {run:String}), '') AS found
FROM redaction_trail
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: window-shows-it-removed
-- expects: the window of the turn has the item's block, and marks the content as removed
-- rule: seed 001 ACTX-AR-POLICY-001
-- applies: run
SELECT
    count() AS looked_at, 'config removed' AS expected,
    replaceAll(
        arrayStringConcat(groupArray(concat(arrayStringConcat(item_refs, ' '), ' ', redaction_state)), '; '),
        concat('-', {run:String}), '') AS found
FROM turn_window
WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND injected;

-- check: injection-says-it
-- expects: the injection has the state of the redaction, too
-- rule: seed 001 ACTX-AR-POLICY-001
-- applies: run
SELECT
    count() AS looked_at, 'model removed' AS expected,
    arrayStringConcat(groupArray(concat(target, ' ', redaction_state)), '; ') AS found
FROM injections
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: secret-nowhere
-- expects: the secret is in no table, except in the quarantined message that tried to inject it
-- rule: seed 001 ACTX-AR-POLICY-001, invariant 8
-- applies: run
WITH
concat('correct-horse-', {run:String}) AS secret
SELECT
    (
        SELECT count()
        FROM refused_events
        WHERE tenant = {tenant:String} AND has({sequences:Array(UInt64)}, stream_seq) AND position(data, secret) > 0
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(groupArray(concat(place, ' at ', toString(stream_seq))), '; ') AS found
FROM
(
    SELECT 'events' AS place, stream_seq
    FROM events FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'scopes', stream_seq
    FROM scopes FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'items', stream_seq
    FROM items FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'decisions', stream_seq
    FROM decisions FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'windows', stream_seq
    FROM windows FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'placements', stream_seq
    FROM placements FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'replacements', stream_seq
    FROM replacements FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'redactions', stream_seq
    FROM redactions FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'missing', stream_seq
    FROM missing FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'calls', stream_seq
    FROM calls FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
    UNION ALL
    SELECT 'log_items', stream_seq
    FROM log_items FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND position(formatRow('TSVRaw', *), secret) > 0
);

-- check: redactions-have-policy
-- expects: every redaction and every redacted item has a reason and a policy
-- rule: seed 001 ACTX-AR-POLICY-001, boundary rule 5
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(groupArrayIf(10)(what, why = '' OR empty(policy_refs)), '; ') AS found
FROM
(
    SELECT concat('redaction ', redaction_id) AS what, reason AS why, policy_refs
    FROM redaction_trail
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT concat('item ', item_id), redaction_reason, policy_refs
    FROM item_versions
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND redaction_state NOT IN ('', 'none', 'unknown')
);

-- check: redacted-stays-redacted
-- expects: no later version, assembly or injection shows a withheld item as not redacted
-- rule: invariant 8
-- applies: both
SELECT
    (
        SELECT count()
        FROM redaction_trail
        WHERE tenant = {tenant:String}
            AND session_id = {session_id:String}
            AND redaction_state IN ('removed', 'policy_blocked')
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(groupArray(10)(concat(record_id, ': ', problem)), '; ') AS found
FROM check_redaction_reintroduced
WHERE tenant = {tenant:String} AND session_id = {session_id:String};
