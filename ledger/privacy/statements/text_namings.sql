SELECT i.incarnation, i.stream_seq, toString(i.tenant), i.content_ref, e.stream_seq = 0 AS expired
FROM
(
    SELECT DISTINCT incarnation, stream_seq, tenant, content_ref
    FROM items
    WHERE startsWith(content_ref, {prefix:String})
) AS i
LEFT ANY JOIN
(
    SELECT incarnation, stream_seq
    FROM events
    WHERE data != ''
        AND stream_seq IN
        (
            SELECT stream_seq
            FROM items
            WHERE startsWith(content_ref, {prefix:String})
        )
) AS e
    ON e.incarnation = i.incarnation AND e.stream_seq = i.stream_seq
