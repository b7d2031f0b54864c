SELECT count(), argMin(incarnation, (stream_seq, incarnation)), min(stream_seq)
FROM
(
    SELECT incarnation, stream_seq
    FROM
    (
        SELECT incarnation, stream_seq, xxh3_128(tuple(*)) AS hash, 1 AS live
        FROM {table:Identifier} FINAL
        WHERE indexOf({incarnations:Array(UUID)}, incarnation) = 0 AND {others:Bool}
            OR stream_seq > {after:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
                AND stream_seq <= {through:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
        UNION ALL
        SELECT incarnation, stream_seq, xxh3_128(tuple(*)) AS hash, 0 AS live
        FROM {rebuilt:Identifier}.{table:Identifier} FINAL
        WHERE indexOf({incarnations:Array(UUID)}, incarnation) = 0 AND {others:Bool}
            OR stream_seq > {after:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
                AND stream_seq <= {through:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
    )
    GROUP BY incarnation, stream_seq, hash
    HAVING countIf(live = 1) != countIf(live = 0)
)
SETTINGS do_not_merge_across_partitions_select_final = 1, max_bytes_before_external_group_by = 268435456
