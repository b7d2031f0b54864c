SELECT
    incarnation, min(first_seq) AS first_seq, {last:UInt64} AS last_seq, {messages:UInt64} AS messages,
    toFixedString('', 32) AS digest,
    CAST(({names:Array(String)}, {counts:Array(UInt64)}), 'Map(LowCardinality(String), UInt64)') AS rows,
    toUInt64(0) AS epoch, max(projection_version) AS projection_version, max(recorded_at) AS recorded_at,
    {tree_size:UInt64} AS tree_size, toFixedString(unhex({tree_root:String}), 32) AS tree_root,
    unhex({tree_frontier:String}) AS tree_frontier, toUInt32({rules:UInt32}) AS writer_rules
FROM commits FINAL
WHERE commits.incarnation = {incarnation:UUID} AND commits.first_seq <= {last:UInt64}
GROUP BY incarnation
