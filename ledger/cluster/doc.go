// Package cluster keeps a ledger on several ClickHouse servers, the shards of a cluster.
//
//	a session   lives in one partition of the streams
//	a partition is projected to one shard
//	a shard     has all tables and views, as a single server has
//
// ClickHouse knows the cluster by its configuration: remote_servers has the addresses of the shards,
// and the macro shard of each server has its number. A [Migration] reads both. It writes them into the
// table cluster_shards of each shard, last of all:
//
//	revision  UInt64  the newest row counts
//	cluster   String  the name in remote_servers
//	own       UInt32  the number of this shard, from 1
//	version   String  the newest change of the tables
//	shards    Nested  number, host and port of every shard
//
// The table cluster_moves of a shard has a row for each begin and end of a move of a partition from it to
// another shard; see [Layout].
//
// A database without cluster_shards is a plain ledger. [Of] tells the two apart by one statement, so a
// plain ledger pays for nothing else.
//
// # No statement runs on several servers
//
// This program connects to each shard by itself, with the user, the database and the TLS of the
// given address. Neither ON CLUSTER nor Distributed tables nor cluster() are used. Each shard then
// needs no right to read other shards. A shard that is down is an error of its own connection,
// which names the shard. A client that goes away interrupts nothing between two servers.
package cluster
