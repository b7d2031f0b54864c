SELECT if(
    uniqExact(log_index) =
    (
        SELECT max(tree_size)
        FROM commits
        WHERE incarnation = {incarnation:UUID}
    ),
    (SELECT max(last_seq) FROM commits WHERE incarnation = {incarnation:UUID}), 0)
FROM log_hashes
WHERE incarnation = {incarnation:UUID}
