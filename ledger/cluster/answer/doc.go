// Package answer answers named queries on the shards of a cluster, with the rows that one machine
// would give. queries/shards.txt says how for each query:
//
//	union    every shard answers the whole query. Its rows are sorted already, so the answers are
//	         merged as they come. The limit of the query applies to the merged rows again.
//	groups   every shard answers the whole query. Rows of one group become one, and are sorted again.
//	session  the shard that has the session answers alone.
//	same     every shard answers. All have the same rows, or the answer is an error.
//
// A query that counts the days back from the newest fact gets the newest fact of all shards. The
// replay of a quarantined message may be on another shard than the message. Each shard gets those.
// Checks that relate several sessions get what the other shards have of these; see checks.go.
//
// A merge of sorted answers needs no state of aggregate functions, no temporary table and no right
// to read other servers. It holds one row of each shard; groups holds all rows. Queries that aggregate
// over sessions cannot be merged like this. They answer for one session, and are otherwise refused with
// [ErrNeedsSession]. Queries that know no session are refused with [ErrNotOnCluster].
//
// An answer is whole or an error. The error of a shard names the shard.
package answer
