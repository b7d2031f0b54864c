// Package cluster keeps a ledger on several ClickHouse servers, the shards of a cluster.
//
//	a session   lives in one partition of the streams
//	a partition is projected to one shard
//	a shard     has all tables and views, as a single server has
//
// ClickHouse knows the cluster by its configuration: remote_servers has the addresses of the servers,
// and the macro shard of each server has the number of its shard. A [Migration] reads both. It writes them into the
// table cluster_shards of each shard, last of all:
//
//	revision  UInt64  the newest row counts
//	cluster   String  the name in remote_servers
//	own       UInt32  the number of this shard, from 1
//	version   String  the newest change of the tables
//	shards    Nested  number of the shard, host and port of every server
//
// The table cluster_moves of a shard has a row for each begin and end of a move of a partition from it to
// another shard; see [Layout].
//
// A database without cluster_shards is a plain ledger. [Of] tells the two apart by one statement, so a
// plain ledger pays for nothing else.
//
// # Replicas
//
// A shard may be several servers that have the same rows; remote_servers then has more than one replica for
// each shard. They have the same tables with replicated engines, which share their rows by ClickHouse Keeper.
// The list in cluster_shards has a row for each server. Views are made on each server. A client
// uses the first replica that answers. Package ledger says how writes reach all replicas; see
// [ledger.OpenReplicas]. Replicated tables were never run with this program: the engine of the tests has no
// Keeper. Their definitions are compared with the plain ones by the parser of the engine.
//
// # No statement runs on several servers
//
// This program connects to each server by itself, with the user, the database and the TLS of the
// given address. It uses neither ON CLUSTER nor Distributed tables nor cluster(). Each shard then
// needs no right to read other shards. A shard that is down is an error of its own connection,
// which names the shard. A client that goes away interrupts nothing between two servers.
//
// SQL clients have no such merge. [Migration.All] makes a database of Distributed tables for them.
package cluster
