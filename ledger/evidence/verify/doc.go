// Package verify says of an evidence pack what is true of it, with no network,
// no NATS and no ClickHouse: a pack and a public key are all it takes.
//
// Each [Question] gets a [Verdict] of its own, since integrity and completeness
// are two things: a pack can be whole and unaltered and hold a scope that was
// never sealed. A verdict that failed names every fault by file, line and reason,
// as many as [Options.MaxFaults].
//
// # How a fault finds its place
//
// The records are looked at line by line beside the lines of proofs/N/leaves,
// which hold each record's leaf and a digest of its line. Lines are matched by
// digest, so a line that was dropped, doubled or moved is named without blaming
// those after it. Of a file of a zip that does not unpack to what it was, where
// everything behind an altered byte may be anything, a question names the first line
// that is wrong. Where two files contradict each other, the one whose digest is
// not that of the signed manifest is to blame. Documents are derived again from
// the records and compared byte for byte; when records were altered, only
// documents that were altered themselves are held against them.
//
// # Expired records
//
// Of a record that was erased a pack has the leaf and the id of the erasure. It counts
// as expired only if a fact of that erasure, which is in the pack and proven like any
// other record, names the leaf; anything else is a fault. The fact also names the
// sequence, which then is not missing in its sealed scope.
//
// # Scopes beyond the pack's
//
// A turn or a run may hold a seal of more than itself: of its session, or one that names
// facts of other turns. The first is not judged. Of the second the exporter says which
// facts are elsewhere, unproven: such a scope is open, and a fact that is neither here nor
// elsewhere is a fault.
//
// # Cost
//
// A pack is read twice, once for the digests of its files. Memory does not grow
// with the records, apart from some bytes for each id that they name.
package verify
