-- check: evidence-leads-to-sources
-- expects: the evidence id leads to the context items, the location and digest of their content, and the source
-- rule: seed 001 ACTX-AR-EVID-001
-- applies: run
SELECT
    count() AS looked_at,
    concat(
        'page: ref blob:77 hmac:k1:9f2c from https://example.org/spec file hmac:k1:77aa; ',
        'quote: inline  hmac:k1:1b3d from file:///srv/app/QUOTE file hmac:k1:55cc')
        AS expected,
    replaceAll(arrayStringConcat(groupArray(line), '; '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT concat(
        item_id, ': ', content_mode, ' ', content_ref, ' ', content_digest, ' from ',
        arrayStringConcat(source_uris, ' '), ' ', arrayStringConcat(source_kinds, ' '), ' ',
        arrayStringConcat(source_digests, ' ')) AS line
    FROM item_versions
    WHERE tenant = {tenant:String} AND evidence_id = concat('evidence-', {run:String})
    ORDER BY item_id
);

-- check: parts-are-references
-- expects: an item with an image has the image's location, type and size, but never the image; an item that holds its
--   image, or has no location, is refused
-- rule: seed 003 (content parts), seed 001 ACTX-AR-EVID-001
-- applies: run
SELECT
    count() AS looked_at,
    'picture: text at  hmac:k1:aa01 12 bytes 3 tokens; picture: image/png at blob:78  20480 bytes 258 tokens'
        AS expected,
    replaceAll(arrayStringConcat(groupArray(line), '; '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT concat(
        item_id, ': ', if(mime_type = '', part_kind, mime_type), ' at ', ref, ' ', content_digest, ' ',
        toString(byte_size), ' bytes ', toString(tokens), ' tokens') AS line
    FROM item_parts
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY item_id, part
);

-- check: pack-refers
-- expects: the export names the pack, its scope and its digest, and cites the evidence by reference
-- rule: seed 001 ACTX-AR-EVID-001
-- applies: run
SELECT
    count() AS looked_at, 'pack of turn sha256:00ff, cites evidence, refers to page' AS expected,
    replaceAll(
        arrayStringConcat(
            groupArray(
                concat(
                    JSONExtractString(data, 'pack_id'), ' of ', JSONExtractString(data, 'scope'), ' ',
                    JSONExtractString(data, 'digest'), ', cites ',
                    arrayStringConcat(JSONExtract(data, 'evidence_refs', 'Array(String)'), ' '), ', refers to ',
                    JSONExtractString(data, 'metadata', 'source_map', 1, 'item_ref'))),
            '; '),
        concat('-', {run:String}), '') AS found
FROM recorded_events
WHERE tenant = {tenant:String}
    AND session_id = {session_id:String}
    AND event_type = 'context.exported'
    AND evidence_id = concat('evidence-', {run:String});

-- check: payload-not-copied
-- expects: content that a producer stored inline is in its event and in no other row
-- rule: seed 001 ACTX-AR-EVID-001, invariant 9
-- applies: run
SELECT
    (
        SELECT count()
        FROM recorded_events
        WHERE tenant = {tenant:String}
            AND session_id = {session_id:String}
            AND position(data, concat('payload-', {run:String})) > 0
    ) AS looked_at,
    'in 1 event' AS expected,
    concat(
        'in ',
        toString(
            (
                SELECT count()
                FROM recorded_events
                WHERE tenant = {tenant:String}
                    AND session_id = {session_id:String}
                    AND position(data, concat('payload-', {run:String})) > 0
            )),
        ' event',
        if(count() > 0, concat(' and ', arrayStringConcat(groupArray(place), ', ')), '')) AS found
FROM
(
    SELECT 'scopes' AS place
    FROM scopes FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'items'
    FROM items FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'decisions'
    FROM decisions FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'windows'
    FROM windows FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'placements'
    FROM placements FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'replacements'
    FROM replacements FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'redactions'
    FROM redactions FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'missing'
    FROM missing FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'calls'
    FROM calls FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
    UNION ALL
    SELECT 'log_items'
    FROM log_items FINAL
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND position(formatRow('TSVRaw', *), concat('payload-', {run:String})) > 0
);

-- check: refs-lead-somewhere
-- expects: an item that is a reference names the location or the origin of its content
-- rule: invariant 9
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(concat('item ', item_id), content_ref = '' AND empty(source_uris)), '; ') AS found
FROM item_versions
WHERE tenant = {tenant:String}
    AND session_id = {session_id:String}
    AND change != 'removed'
    AND content_mode IN ('ref', 'resource_link', 'artifact_ref', 'tool_result_ref');
