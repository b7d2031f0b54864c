INSERT INTO cluster_shards
SELECT
    (SELECT max(revision) + 1 FROM cluster_shards), {cluster:String}, {own:UInt32}, {version:String},
    {numbers:Array(UInt32)}, {hosts:Array(String)}, {ports:Array(UInt16)}
