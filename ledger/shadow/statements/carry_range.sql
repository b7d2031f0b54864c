INSERT INTO {rebuilt:Identifier}.commits (
    incarnation, first_seq, last_seq, messages, digest, rows, epoch, projection_version, recorded_at, tree_size,
    tree_root, tree_frontier, writer_rules)
SELECT
    {incarnation:UUID}, min(first_seq), {last:UInt64}, {messages:UInt64}, toFixedString('', 32),
    CAST(({names:Array(String)}, {counts:Array(UInt64)}), 'Map(LowCardinality(String), UInt64)'), 0,
    max(projection_version), max(recorded_at), {tree_size:UInt64}, toFixedString(unhex({tree_root:String}), 32),
    unhex({tree_frontier:String}), {rules:UInt32}
FROM commits FINAL
WHERE incarnation = {incarnation:UUID} AND first_seq <= {last:UInt64}
HAVING count() > 0
