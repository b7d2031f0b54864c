// Package erasure removes the content of a data subject from the streams and the tables.
//
// An [Erasure] publishes facts that name the messages, and waits until the tables have the
// facts. The erasure then deletes the messages and their rows. An Erasure may be interrupted at
// any step and run again. [ReadAbsent] reads the facts again. The facts give the place of an
// erased message, and its leaf in the transparency log.
//
// A fact names its subject by a keyed digest, see [proof.Ring.SubjectDigest]. The key derives from
// the secret of the ledger's ring and the tenant, so no rotation changes it, and whoever lacks the
// ring cannot test a guess. Facts of earlier versions hold the id itself. A fact leaves out the ids
// of records that redactions withhold: with such an id the projector would refuse the fact.
package erasure
