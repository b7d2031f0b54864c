// Package shardmap keeps the map from the partitions of the streams to the shards of a cluster of
// ClickHouse servers. The map is one entry of the lease bucket, under the key "shards":
//
//	{"cluster":"shop","shards":[1,2,1,2]}
//
// The list has the number of a shard for each partition, in the order of the partitions. A
// partition is projected to one shard, so all rows of a session are on one shard.
//
// The map depends on the bucket of a session alone, never on its tenant: questions look for the shard of a
// session by its id. A tenant with streams of its own therefore has as many partitions as the shared streams,
// with the same buckets. Later facts of a session are then on the shard of the earlier ones, which are in the
// shared streams.
//
// A [Move] of a partition to another shard is a part of the entry until it ends. Each change is a
// compare-and-set. A projector compares the map with the one that it began with, under the lease of its
// stream. So a process with an old map writes nothing.
//
// The map can be edited by hand or lost. The tables commits of the shards then contradict it, and
// [Map.Check] refuses it. Nothing is projected twice.
package shardmap
