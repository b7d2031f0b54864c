INSERT INTO cluster_moves
SELECT
    (SELECT max(revision) + 1 FROM cluster_moves), {partition:UInt32}, {source:UInt32}, {target:UInt32}, {closed:Bool}
