SELECT count(), toString(sum(xxh3_128(tuple(*))))
FROM
(
    SELECT *
    FROM {table:Identifier} FINAL
    WHERE indexOf({incarnations:Array(UUID)}, incarnation) = 0 AND {others:Bool}
        OR stream_seq > {after:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
            AND stream_seq <= {through:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
)
SETTINGS do_not_merge_across_partitions_select_final = 1
