// Package verify checks an evidence pack against a public key, without network, NATS or ClickHouse.
//
// Each [Question] gets its own [Verdict], because integrity and completeness are independent. A
// pack can be unaltered and contain a scope that was never sealed. A failed verdict lists every
// fault by file, line and reason, up to [Options.MaxFaults].
//
// # How a fault finds its place
//
// Verification reads the records together with the lines of proofs/N/leaves. A leaf line holds the
// leaf of a record and a digest of the record's line. Lines are matched by digest, so a dropped,
// repeated or moved line causes no fault at the lines after it. A damaged file in a zip can unpack
// to arbitrary bytes behind the damage. For such a file, each question names only the first wrong
// line. If two files contradict each other, the fault goes to the file that does not match the
// signed manifest. Documents are derived again from the records and compared byte for byte. If
// records were altered, only documents that were altered themselves get faults.
//
// # Contradictions
//
// A holder of the signing key can sign records that a ledger would never write. The records are
// compared with the header and with one another: tenant, session and scope, times of recording,
// identities that occur twice, and the contract of events. These faults are of the format. Heads that
// a witness has seen are compared with the heads of the pack, see [Options.Witnessed].
//
// # Expired records
//
// A pack contains the leaf of an erased record and the id of the erasure. The record counts as
// expired only if a fact of this erasure names the leaf. The fact must be in the pack and proven
// like any other record. Everything else is a fault. The fact also names the sequence of the
// record, which then does not count as missing in its sealed scope.
//
// # Scopes beyond the pack's
//
// A turn or a run can contain the seal of a larger scope, such as the session. A seal can also name
// facts of other turns. Seals of the session are not judged. For a seal that names facts of other
// turns, the exporter lists these facts without proof. The sealed scope then gets the answer open.
// Facts that are neither in the pack nor in this list are faults.
//
// # Cost
//
// A pack is read twice, the first time for the digests of its files. Memory is bounded, apart from
// some bytes for each id in the records.
package verify
