// Package projector reads a stream by sequence and commits what it says to
// the ledger, so that every event counts exactly once.
//
// The stream is read in order and never acknowledged: all that says what
// was projected is the table commits, written last of a batch. A batch's range stands in the
// lease entry before its first row is written, so the next holder reads exactly
// that range again and writes what is missing with the same tokens. The states,
// and what a crash after each of them leaves, are in protocol.go, on one screen.
// Whatever goes wrong in one of them is answered like a crash, because stream and
// tables may be others when they are back. One lease entry per stream, changed
// only by compare-and-set, keeps two projectors from writing at once; see [lease.Lease].
//
// # Where things are
//
//	lease       who may write a stream, and the journal
//	streamio    messages in the order of the stream; streams, rules, levels
//	decode      a message becomes an event
//	leak        an event that holds a withheld value is masked
//	identity    which events are certainly new
//	hole        sequences of a producer that do not come
//	quarantine  copies of quarantined messages, replays
//	metrics     what was done, how far the ledger is behind, who failed
//	signing     signed tree heads
//	erasure     messages of a data subject go
//	rebuild     a second set of tables
//	recheck     withheld values in older events
//
// Each imports only those above it, and none imports this package. This package has the
// protocol. A message goes through it in this order:
//
//	pipeline.go   read, build and write, each in a goroutine
//	assembly.go   decode, mask, and add to the batch under way
//	rows.go       an event, a duplicate or a row of quarantine
//	batch.go      what is ready to be written
//	protocol.go   the steps of a batch
//	writer.go     journal, rows, commit
//
// recovery.go, verify.go, walkback.go and settle.go are the steps of a start.
//
// A batch ends where the month of the stream's time ends, so that no insert
// spans two partitions: an insert is atomic only within one.
//
// An event that is wrong in itself goes to quarantine with its exact bytes and
// the events around it are unaffected. Everything else that goes wrong
// (a server down, memory, too many parts) is waited out.
//
// # Rules
//
// What is an event, whose it is and what it becomes are rules, and rules have versions;
// see [ledger.Rules]. The metadata of a stream says from which sequence on which version
// holds, and each message is projected by the version of its place, however often. So
// new rules change nothing of what is recorded: a rebuild gives the same tables, the log
// the same root, and packs verify. [streamio.EnsureRules] sets the position, under the lease and
// above the last commit and the journal. streamio/rules.go has the format, and what is done
// where the metadata contradicts the commits; lease/fence.go keeps older projectors out.
//
// By the newest version, [ledger.SubjectRules], the subject on which NATS delivered an
// event says whose it is, because permissions go by it:
//
//	tenant differs                          quarantined as tenant_mismatch
//	runtime, bucket, object or verb differs quarantined as subject_mismatch
//	tenant or runtime absent                default, unnamed
//
// Both are filed under the tenant of the subject. An identity is (tenant, source, id);
// the stored hash is over (source, id), so that a repeat across the position counts
// once, and the tenant is compared after the look-up. Withheld values are looked for in
// the messages of the tenant that withholds them. A replay has the tenant of the
// message that it replaces.
//
// A fact of an erasure counts for messages of its own tenant, where its leaf is the one
// in the log; of several the first counts. See erasure/claims.go.
//
// # Order
//
// The events of a session keep the order of their stream: stream_seq within one
// incarnation, with recorded_at, which is the stream's. event_time is the
// producer's, may run backwards and may be of another month; sequence counts what
// one source says in one session, and may come in any order and with holes.
//
// What was said, not when it came, makes the tables and the views. The same events
// in another order, late, from several producers or cut into other batches, give the
// same answers: views order by the producer's sequence, or by event_time where
// several producers speak of one thing. By the stream's order go only
//
//   - stream_seq, recorded_at, and thread_order of a producer that keeps no sequence;
//   - which of two messages with one identity counts: the lowest sequence;
//   - redactions, by design: what came before one has been seen, what comes after it
//     is refused (check_redaction_reintroduced, see Withheld values);
//   - which of two equally complete versions of a call or a compaction a view shows.
//
// A hole in a producer's sequences is said to be a loss five minutes of the stream
// later, and no more once it has closed, however late.
//
// # Erasure
//
// An [erasure.Erasure] takes the content of a subject out of everything that is kept of it, in
// an order in which it can be cut off anywhere and run again:
//
//	tell     facts say which records go: stream, sequence, leaf and ids
//	await    they are in the tables, so that nothing vanishes unexplained
//	delete   the messages of the streams and of CTX_QUARANTINE, overwritten
//	unlist   the rows of these sequences: tables of facts, quarantine, duplicates;
//	         the digests in commits that covered them; events last, by which a
//	         second run finds what is left
//
// A subject is who owns the data: the events whose resource_id it is. session:, run:,
// thread: and item: name others; see [ledger.Subject]. With its events go the messages
// that brought them again or were refused for having their identity, because with the
// first of them gone a rebuild would take the second for an event; and the messages in
// quarantine that are the subject's. Redactions stay: they hold no content, and without
// them a value that is withheld could come back.
//
// The command deletes the rows and not the projector: no projector writes rows at or
// below its last commit but those that a table lacks of what the stream still has, so
// the two do not meet. A commit of which messages are gone is recognised by those that
// are left, as after any deletion; its own digest, which would tell a lone message to
// whoever tries, is zero, and its counts are those of the rows that are left.
//
// What remains of a record is its leaf, in log_hashes and in the fact. It says nothing
// without the salt, which only the ledger's secret gives again. Beside it a lease entry
// names the digest of the last range that was journalled, until the next is, and the
// server's log of deduplication tokens a quarter of the digests of its last 10,000
// blocks. What refers to an erased item finds it expired: one that was the subject itself
// has a last version that says so, and of other subjects' items the fact has the ids,
// which count where no version is left. The fact also says which source and sequence a record had, and
// its session, run and turn: so check_sequence_gaps and the alarm take no erased sequence
// for a loss, and a pack that is exported later has the record as expired.
//
// # What it costs
//
// Reading, building and writing run at the same time; messages become rows part
// by part, in buffers that are used again. CPU seconds of a million events of the
// realistic mix (1.8 KB each; ctxledger bench projector --events 200000 --rounds 5,
// the median), everything on a machine of two cores that had much else to do, which
// adds a fifth or more; take the differences:
//
//	                                              client  NATS  ClickHouse
//	raw copy, no decoding                             15     6          13
//	drain                                             53     7          37
//
//	of the client's: validation and decoding                  12
//	                 rows in the columns' bytes               12
//	                 looking for withheld values               8
//	                 the collector                             6
//	                 NATS, most of it headers                  5
//	                 the digest of the range                   5
//	of ClickHouse's: inserts, a third of it for events  about 22
//	                 merges                             about 14
//
// What made a difference, by itself, in the same unit:
//
//	rows in the columns' bytes, not by reflection        client  83 → 67
//	words too short for a withheld value passed over,
//	headers sorted once a kind of message                client  60 → 50
//	nothing compressed on the way on one machine         client  59 → 53, 712 → 370 MB
//	a fifth of the messages held ahead                   client  62 → 47 at 280 MB
//	blocks not searched for repeats                      inserts 27 → 22
//	parts of one file, below 128 MB                      all of ClickHouse 60 → 52, 53 → 41
//	merges of ten parts, not five (400,000 events)       all of ClickHouse 51 → 40
//	attributes read once, firsts without pointers, no
//	column grown anew, no encoder for metadata           client  58 → 51 (two rounds)
//	texts as one stream, a mark a column, none sparse    inserts 22.5 → 18.9, 318 → 315 bytes
//	that and merges of sixteen parts, not ten,
//	in batches of 4,000 (192,000 events)                 all of ClickHouse 79 → 58
//	the streams, or merges of twenty, in batches of 40   73 → 66, or 65 ms a batch
//
// A look at one session or turn reads each part: it took a seventh more CPU with fifteen
// parts than with ten. A drain of fewer than sixteen batches ends before the first merge,
// so take the price of merges from longer ones.
//
// And what made none: LZ4 for all but text, which also takes more room; ZSTD(1) for
// payloads; indexes not built on insert; small write buffers; merges by column, with
// parts of more than 8 MB in files of their own (35 for 32); inserts without profile
// events, profilers, defaults, compiled expressions or a log of queries. LZ4 for what is
// inserted and ZSTD for what is merged might take a tenth off, but only the section
// compression of the server's configuration can say so, and clickhouse local, which the
// embedded engine is, does not start with one: it reads the name as an option of its own.
// The filters of a part in one file (packed_skip_index_max_bytes) take a fifth off an
// insert of one row, 11 files instead of 16 to 18; ClickHouse 26.7 calls that experimental,
// and its format has changed since. All columns of a granule packed as one
// (compress_per_column_in_compact_parts) takes off as much again, and who asks for two
// columns of a session then unpacks all forty. Marks and keys by LZ4 made no difference.
// Nor, in the client, anything that two to four rounds told from the 5 that they
// differed by: parts of 128 messages, which would stay in its cache; rows on the stack,
// without write barriers; headers in a list, not the client's map; a profile for the
// compiler; a collector that comes less often (GOGC=60), which takes 25 MB more.
//
// A fixed price of 5 to 10 ms for each table of a batch falls with larger batches. It
// has no one cause: by a profiler's samples a third writes the part, a tenth of all is
// ZSTD, mostly its set-up, a fifth is merges, and the rest is spread over parsing,
// types, buffers and small files; a table of six columns costs half of one of fifty.
// All of it is time of the processors, so more tables at a time would gain nothing.
// Batches are as large as 300 MB of memory allow, and smaller while a server takes
// more than four seconds to write one: with 30,000 messages, always, a machine under
// tenfold load met the time limit of an insert.
//
// # Memory
//
// Rows of two batches take about 100 MB, most of the rest are messages on their way
// and firsts of events in flight; 252 MB at most were resident with a backlog of
// 500,000 events, with the collector set as by `ctxledger project`. It does not
// depend on the backlog. The identities take 2 to 4 MB for each million events in
// the ledger.
//
// # Who derives the columns
//
// Go does, by measurement. Materialised views that derived items and decisions of
// the payloads within the insert of events, parsing each payload once, cost the
// server 5.3 CPU seconds a million events. The same two tables as blocks of their
// own cost it 2.9, and the client 1.5 more. The payloads are parsed in Go in any
// case, to be validated, and a table of its own can be written again by itself.
//
// # Withheld values
//
// A redaction carries keyed fingerprints of what it withholds. From its place in
// the stream on, a message of the same tenant that holds such a value goes to
// quarantine under the code redaction_reintroduced, masked, and is deleted from
// the stream. Looked at are the payload, the subject and the names and values of
// headers: as they came, and with the escapes of JSON (three layers), percent
// encoding and the base64 of a structured event taken off. Values below
// [fingerprint.Prefix] bytes have no fingerprint; other encodings, other
// cases and values split over two fields are not found.
//
// What is kept of such a message is not to give the value away: neither the
// message id nor what looks like a bare digest is kept, other faults are not
// named, and the digest of the range in journal, tokens and commits covers no
// more of it than its place. That range is therefore recognised when it is read
// again, before and after the deletion, with or without the keys. The deletion
// comes after the commit, because until then the range may have to be derived
// again; where it was lost, the next start makes up for it, by what quarantine
// says of the last committed range.
//
// The stream has nothing of these messages any more. A [rebuild.Rebuild] gives them their
// rows of quarantine again from their copies in CTX_QUARANTINE.
//
// Recognising needs the tenants' keys. A key that is missing is said so of in
// the log and in Status; when it comes, it counts from the next redaction or the
// next start on. What was recorded before its redaction, or without the key, is
// found by a [recheck.Rechecker], which reports each event by its place, record and
// policy in the view check_redaction_reintroduced. Then the value has been in the
// ledger and in whatever read it: change the secret, and erase the events.
//
// # Transparency log
//
// Each event gets a leaf in the log of its stream, whose formats are in package
// proof. The log's table, log_hashes, is written with a batch like any other, and its
// state, size, root and frontier, stands in the row of commits, from which the next
// batch goes on: so does who takes over, and who derives a committed range again. The
// digest of a range, the journal and the tokens know nothing of the log and its
// secret.
//
// A ledger that is older than the log has one from the first commit after it on, and
// a [rebuild.Rebuild] of that leaves it so. A projector without the ring of a ledger that has
// a log stops, with [decode.ErrNoSecret]: events without a leaf would be a hole in it.
//
// What an erasure has taken out of the stream keeps its place in the log. The fact of
// the erasure has the leaf; who reads that part of the stream again, to rebuild it or
// to mend a table, takes it from there. A message that somebody deleted otherwise has
// no leaf in a rebuilt log, whose root is then another: the comparison says so.
//
// Tree heads are signed next to the commits, which do not wait for them; see [signing.Config].
//
// # Partitions
//
// The events may be in several streams, by the bucket of their session; see
// [schema.Partitions]. Each has its own incarnation, lease, journal and
// commits, and a [Projector] knows no more of the others than this:
//
//   - An event's identity and order are those within its stream, which alone can be
//     projected twice with the same result. A producer that sends one source and id
//     under two sessions makes two events of it, one a stream.
//   - A redaction counts in the other streams once its own projector has committed
//     it and they have looked, which they do before a batch and at most once a
//     second. A value that comes back in between is in the tables; a [recheck.Rechecker]
//     finds it.
//
// A [Fleet] runs them. Processes share the streams evenly without anybody in
// charge: each signs a roster every 3 s, and takes and gives up leases until it has
// its share of them. What a process leaves behind when it ends is taken within
// about a second; when it dies, after its leases and its signature are 10 s old, so
// within 13 s of its last one. A process that was stopped and wakes finds its leases
// lost and gets its share again.
//
// Batches are limited for the process as a whole, but a table gets an insert from
// each stream in every linger: have no more streams than the load needs, and a
// longer linger with many of them.
package projector
