// Package lease decides which process may write the rows of a stream.
//
// The bucket [Bucket] has one entry for each stream. The holder of the lease renews the entry
// every heartbeat. Every change is a compare-and-set, so two holders cannot both change it.
//
//	<stream>.projection   lease and journal, an [Entry] as JSON
//	<stream>.request      the name of a process that asks the holder for the lease
//	<stream>              the fence, which projectors of older versions cannot read
//	doctor.probe          written and removed by [Probe]
//	backup, rebuild       leases of the processes that need all messages of the streams
//	retention.policy      what the streams keep
//	retention.backup      up to where the last backup has the streams
//	shards                which shard has which partition, see package shardmap
//	redactions            changed by each commit of a redaction, for projectors of other streams
//	redactions.<tenant>   the same, for the streams of a tenant
//	projectors.<owner>    one process that shares the streams with others, see [Roster]
//
// The entry is also the journal: it names the range that its holder writes. The next holder of
// the lease finds that range there.
//
// # A holder that is gone
//
// A holder with a connection answers on a subject of its own, which its entry names. A server that knows no
// subscriber of the subject says so at once. The connection of the holder is then gone, as after the end of
// its process, and an observer need not wait for the expiry. A holder that hangs keeps its connection and
// loses its lease by the expiry. So does a holder of an older version, whose entry names no subject.
//
// Nobody relies on this for correctness. A holder that is alive and lost its connection for a moment loses its
// lease, as after an expiry.
package lease
