// Package answer answers named queries on the shards of a cluster, with the rows that one machine
// would give. queries/shards.txt says how for each query:
//
//	union    every shard answers the whole query. Its rows are sorted already, so the answers are
//	         merged as they come. The limit of the query applies to the merged rows again.
//	groups   every shard answers the whole query. Rows of one group become one, and are sorted again.
//	         For distinct counts, means and medians the shards give what these are computed from: digests
//	         of the values, a sum and a count, or all values; see partial.go. For an order or a value of
//	         columns that an answer does not have, the shards add columns; see added.go.
//	session  the shard that has the session answers alone.
//	same     every shard answers. All have the same rows, or the answer is an error.
//
// A query that counts the days back from the newest fact gets the newest fact of all shards. The
// replay of a quarantined message may be on another shard than the message. Each shard gets those.
// Checks that relate several sessions get what the other shards have of these; see checks.go. A gap with
// steps in sessions of several shards is answered by the shard of its first step; see gaps.go.
//
// A merge of sorted answers needs no state of aggregate functions, no temporary table and no right
// to read other servers. It holds one row of each shard; groups holds all rows.
// Queries that shards.txt does not list are refused with [ErrNotOnCluster].
//
// A [Statement] of the caller is answered by each shard for itself, with the number of the shard in the first
// column. Package answer does not use the database that [cluster.Migration.All] makes for SQL clients:
// Distributed tables refuse most statements that join two views or that have scalar subqueries, and need
// the right to read other servers. Sums of the shards are for the caller to add. A session is on one
// shard, so rows about one session are whole.
//
// An answer is whole or an error. The error of a shard names the shard. A partition may move to another shard
// between two statements: the caller compares the [cluster.Layout] of before with that of after.
package answer
