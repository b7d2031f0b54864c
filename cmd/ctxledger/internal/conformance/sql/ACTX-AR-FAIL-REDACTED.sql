-- check: nothing-came-back
-- expects: the withheld value is in no table, regardless of how it was sent: in a summary, a panel, a diagnostic or an
--   assembly
-- rule: seed 001 failure case 5, invariant 8
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

-- check: withheld-item-stands
-- expects: the item is unchanged since the redaction: it has one version, no content and no injection
-- rule: seed 001 failure case 5
-- applies: run
SELECT
    count() AS looked_at, 'added policy_blocked; 0 placements' AS expected,
    concat(
        arrayStringConcat(groupArray(concat(change, ' ', redaction_state)), ', '), '; ',
        toString(
            (
                SELECT count()
                FROM placements FINAL
                WHERE tenant = {tenant:String} AND session_id = {session_id:String}
            )),
        ' placements') AS found
FROM item_versions
WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND item_id = concat('letter-', {run:String});
