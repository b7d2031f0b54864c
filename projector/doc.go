// Package projector projects streams of events into the ledger. Every event of a stream
// counts exactly once.
//
// A projector reads its stream by sequence, in order, and never acknowledges a message. Only
// the table commits records which messages were projected. The row of commits is the last
// row that a batch writes.
//
// The lease entry names the range of a batch before the first row is written. The next holder
// of the lease reads the same range again and writes the missing rows with the same tokens.
//
// commit_protocol.go lists the states and the result of a crash after each state. The projector
// handles every failure like a crash, because stream and tables may have been replaced in the
// meantime. Each stream has one lease entry, which changes only by compare-and-set. The entry
// keeps two projectors from writing at the same time; see [lease.Lease].
//
// # Packages and files
//
//	lease       the lease of a stream, and the journal
//	streamio    messages in the order of the stream; streams, rules, levels
//	shardmap    which shard of a cluster has which partition
//	texts       texts that are too large for their events
//	decode      turns a message into an event
//	leak        masks events that hold a withheld value
//	recheck     finds withheld values in older events
//	identity    tells which events are certainly new
//	hole        finds sequences of a producer that are missing
//	quarantine  copies of quarantined messages, replays
//	revocation  takes redactions back
//	metrics     counters, lag of the ledger, causes of failures
//	signing     signed tree heads
//	retention   removes old messages from the streams, but keeps what never expires
//	erasure     erases the messages of a data subject
//	rebuild     fills a second set of tables; moves a partition to another shard
//	backup      copies streams and tables to a folder or a store, and restores them
//
// Each package imports only the packages above it, and none imports this package. This
// package holds the protocol. A message passes through its files in this order:
//
//	pipeline.go         read, build and write, each in a goroutine
//	assembly.go         decode, mask, and add to the current batch
//	duplicate.go        an event, a duplicate or a row of quarantine
//	batch.go            a batch that is ready to be written
//	commit_protocol.go  the steps of a batch
//	writer.go           journal, rows, commit
//
// recovery.go, verify.go, lacking_rows.go and unfinished_range.go are the steps of a start. siblings.go tells the
// projectors of other streams of a redaction. fleet.go runs the projectors of all streams in one process
// and gives them turns. retry.go says which errors end a projector, and health.go has its state for probes.
//
// A batch ends where the month of the stream's time ends, because an insert is atomic only
// within one partition.
//
// An invalid event goes to quarantine with its exact bytes. The events around it are
// unaffected. The projector waits out every other failure, such as a server that is down, a
// lack of memory or too many parts.
//
// # Rules
//
// Rules define which messages are events, which tenant owns an event, and which rows it
// becomes. Rules have versions; see [ledger.Rules]. The metadata of a stream gives the first
// sequence of each version. A message is always projected by the version of its sequence.
// New rules therefore leave recorded events unchanged: a rebuild gives the same tables, the
// transparency log has the same root, and packs verify.
//
// [streamio.EnsureRules] sets the first sequence of a version, under the lease. This sequence lies
// above the last commit and the journal. streamio/rules_metadata.go describes the format, and the
// case of metadata that contradicts the commits. lease/older_version.go excludes older projectors.
//
// Since [ledger.SubjectRules] the subject on which NATS delivered an event names its owner, because
// permissions apply to subjects:
//
//	tenant differs                          quarantined as tenant_mismatch
//	runtime, bucket, object or verb differs quarantined as subject_mismatch
//	tenant or runtime absent                default, unnamed
//
// Both codes are filed under the tenant of the subject. An identity is (tenant, source, id).
// The stored hash covers (source, id), and the tenant is compared after the look-up. An event
// that is repeated under newer rules therefore counts once. A tenant's withheld values are
// looked for only in that tenant's messages. A replay has the tenant of the message that it
// replaces.
//
// The fact of an erasure counts for messages of the fact's tenant. The leaf in the transparency
// log must equal the leaf in the fact. The first of several such facts counts. See erasure/claims.go.
//
// # Order
//
// The events of a session keep the order of their stream. stream_seq is that order within one
// incarnation, and recorded_at is the stream's time. event_time is the producer's time: it may
// run backwards and may lie in another month. sequence numbers the events of one source in one
// session. Sequences may arrive in any order and with holes.
//
// The tables and the views depend on the contents of the events. The order of arrival does not
// matter: late events, several producers or another cut into batches give the same answers.
// Views order by the producer's sequence. Views order by event_time where several producers
// report on one object. Only these depend on the order of the stream:
//
//   - stream_seq, recorded_at, and the thread_order of a producer without sequences.
//   - The choice between two messages with one identity: the lowest sequence counts.
//   - Redactions, by design: a value before its redaction was already read, a value after it is
//     refused (check_redaction_reintroduced, see Withheld values).
//   - The choice between two equally complete versions of a call or a compaction in a view.
//
// A hole in a producer's sequences is reported as a loss after five minutes of the stream's
// time. The report ends when the hole closes, however late.
//
// # Erasure
//
// An [erasure.Erasure] removes the content of a data subject from every place that keeps it. An
// erasure can be interrupted at any step and run again:
//
//	tell     write facts that name the records: stream, sequence, leaf and ids
//	await    wait until the tables have these facts, so that they explain every deletion
//	delete   overwrite and delete the messages of the streams and of CTX_QUARANTINE
//	remove   remove the texts of CTX_TEXTS that no other event names; see package texts
//	unlist   delete the rows of these sequences: tables of facts, quarantine, duplicates;
//	         clear the digests in commits that covered them; delete the rows of events
//	         last, because a second run finds the remaining work by them
//
// A data subject is the owner of the data: its events have its name as resource_id. The
// prefixes session:, run:, thread: and item: name other kinds; see [ledger.Subject]. The
// erasure includes messages that repeat the subject's events or were refused for having
// their identity. Otherwise a rebuild would take such a message for the event. The
// erasure also includes the subject's messages in quarantine. Redactions remain: they hold no content, and
// without them a withheld value could come back.
//
// The erase command deletes the rows; the projector does not. A projector writes rows at or
// below its last commit only where a table lacks rows of messages that the stream still has.
// The two therefore never write the same rows. A commit with erased messages is recognised by
// the remaining messages, as after any deletion. The commit's digest becomes zero, because the
// digest of a single message would let a reader guess its content. The commit's counts become
// the counts of the remaining rows.
//
// The leaf of an erased record remains in log_hashes and in the fact. A leaf reveals nothing
// without the salt, and only the ledger's secret gives the salt. Two other digests remain for a
// while. The lease entry keeps the digest of the last journalled range until the next journal.
// The server's log of deduplication tokens keeps a quarter of each digest of its last 10,000
// blocks.
//
// References to an erased item find it expired. An item of the data subject has a last version
// that is marked as expired. For items of other subjects the fact holds the ids, which count
// where no version remains. The fact also holds the source, sequence, session, run and turn of
// each record. By these check_sequence_gaps and the alarm do not count an erased sequence as a
// loss. A pack that is exported later shows the record as expired.
//
// # Batches and memory
//
// Reading, building and writing run at the same time. Messages become rows part by part, in
// buffers that are used again. Memory holds the rows of two batches, the messages in transit
// and the identities. A long backlog needs no more memory. The memory of the identities grows
// with the number of events in the ledger.
//
// Each table of a batch has a fixed cost, which large batches spread over more rows. Batches
// are as large as the configured limits allow, and smaller while a server takes more than four
// seconds to write one.
//
// Go derives the columns from the payloads, because it parses every payload for validation
// anyway. Each table gets a separate block and can be written again separately.
//
// # Withheld values
//
// A redaction carries keyed fingerprints of the values that it withholds. The redaction applies to later
// messages of the same tenant in the stream. A message that holds such a value goes to
// quarantine under the code redaction_reintroduced, masked. The projector deletes it from the
// stream.
//
// The search covers the payload, the subject, and the names and values of headers. Each text is
// searched as received and decoded. Decoding covers the escapes of JSON (three layers), percent
// encoding, and the base64 of a structured event. Values below [fingerprint.Prefix] bytes have
// no fingerprint and are not found. A redaction of the SDK has fingerprints of further forms of a
// value, which package redact lists. The search misses all other forms.
//
// By [ledger.DoorRules] a redaction is refused if it would turn against its tenant: if a fingerprint
// is of a word of the contract, see [schema.Words], or if the redaction holds its own value. The ids
// of other events are not compared, because they may come from any stream. The fact
// context.redaction.revoked takes a redaction back from its position on. A value stays withheld as
// long as another redaction of it is in force.
//
// The remains of such a message must not reveal the value. The message id and text that looks
// like a bare digest are removed, and other faults are not named. The digest of the range in
// journal, tokens and commits covers only the place of the message. The range is therefore
// recognised when it is read again, before and after the deletion, with or without the keys.
// The deletion follows the commit, because the range may have to be derived again until then. A
// start repeats a lost deletion from the quarantine rows of the last committed range. Right before
// a deletion the projector looks whether the place still holds the same message. JetStream has no
// deletion with a condition: if a stream is made anew or restored between the two requests, its new
// message in that place is deleted.
//
// The deleted messages leave nothing in the stream. A [rebuild.Rebuild] restores their rows of
// quarantine from the copies in CTX_QUARANTINE.
//
// Recognition needs the tenants' keys. The log and Status report missing keys. A key that is
// added later takes effect at the next redaction or restart. A [recheck.Rechecker] finds values
// that were recorded before their redaction or without the key. The view
// check_redaction_reintroduced reports each of these events by place, record and policy. The
// value was in the ledger and may have been read: change the secret, and erase the events.
//
// # Transparency log
//
// Each event gets a leaf in the transparency log of its stream; package proof describes the
// formats. A batch writes the table log_hashes like any other table. The row of commits holds
// the state of the transparency log: size, root and frontier. The next batch continues from
// that state, also after a takeover or a repeated derivation. The digest of a range, the
// journal and the tokens do not depend on the transparency log and its secret.
//
// In a ledger that is older than its transparency log, the log begins with the first commit
// after its introduction. A [rebuild.Rebuild] keeps that beginning. Where the ledger has a
// transparency log, a projector without the key file stops with [decode.ErrNoSecret]: events
// without a leaf would leave a hole.
//
// An erased record keeps its place in the transparency log. A rebuild or a repair takes the
// leaf from the fact of the erasure. A message that was deleted by other means has no leaf in a
// rebuilt transparency log. The root of that log then differs, and the comparison reports the
// difference.
//
// Tree heads are signed in parallel with the commits, which do not wait; see [signing.Config].
//
// # Partitions
//
// On a cluster each partition is projected to one shard. A [rebuild.Move] moves it to another one; see there
// for its steps. A projector reads the map of the shards under its lease and after it has loaded redactions.
// If a partition has moved, a [Fleet] ends, and its process opens the shards again.
//
// Several streams may hold the events, one for each bucket of sessions; see
// [schema.Partitions]. Each stream has its own incarnation, lease, journal and commits. A
// [Projector] shares only this with the projectors of other streams:
//
//   - The identity and order of an event apply within its stream, because only one stream gives
//     the same result twice. A producer that sends one source and id under two sessions makes
//     two events, one in each stream.
//   - A redaction or revocation counts in another stream once its own projector has committed
//     it and the other projector has checked for it. A projector checks before a batch, at most
//     once a second. A withheld value that arrives in the meantime gets into the tables. A
//     [recheck.Rechecker] finds it. In a rebuild it counts for the messages that were recorded
//     after it: the live projector has accepted the earlier ones.
//
// A tenant may have streams of its own; see package streamio. Only their partitions are siblings of one
// another. The shared streams have earlier events of the tenant and get no more. A projector of the tenant
// waits until the ledger has these events, and knows them like events of its own stream: a retry across
// the move counts once, and the tenant's redactions are in force. The order is that of the streams, so a
// rebuild gives the same rows. On a cluster it waits for the ledgers of all shards; those of its sessions are in its own.
//
// A [Fleet] runs the projectors. Processes share the streams evenly without a coordinator. Each
// process signs a roster every 3 s, and takes and releases leases until it has its share.
// When a process ends or dies, the others take its streams within about a second, because nobody answers
// for it any more; see package lease. When a process hangs, they wait until its leases and its roster entry
// are 10 s old, at most 13 s after its last signature. A process that was suspended has lost its leases and
// gets its share again.
//
// The limits of batches apply to the process as a whole, but each stream inserts into each
// table at every linger. Use no more streams than the load needs, and a longer linger with many
// streams.
//
// # Replicas
//
// A shard may be several servers with replicated tables. They were never run with this program; see package
// cluster. The protocol above stays the same, and this is why each event still counts once:
//
//   - An insert of facts returns when all replicas have the block: insert_quorum is their number. So each
//     acknowledged row is on every replica, and any of them answers for the shard. A majority would let a
//     take-over read a replica that lacks rows, and take an event that is repeated for a new one.
//   - An insert into commits also waits for the earlier ones (insert_quorum_parallel = 0), and the projector
//     reads with select_sequential_consistency: no commit is seen before all replicas have it. ClickHouse
//     offers this order only without parallel inserts. Facts are inserted in parallel, because partitions
//     share a shard. Commits of a shard take turns, and a refused one is sent again with its token.
//   - An insert that failed may have reached some replicas. A take-over therefore ends the inserts on every
//     replica, and waits until each has the rows of all others, before it reads anything: LastCommit, Held,
//     LastHeld, Lacking, identities, redactions. It fails while a replica is down.
//   - Tokens of inserts are kept in Keeper, for all replicas together. A retry through another replica is
//     dropped, and waits until the block that was there has reached all replicas.
//   - Deletions wait for all replicas, too (mutations_sync and lightweight_deletes_sync = 2).
//
// A shard takes no rows while one of its replicas is down. The streams keep the events, and the projector
// goes on by itself. Answers need one replica.
package projector
