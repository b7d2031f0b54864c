// Package backup copies both sides of an installation to a folder while everything runs.
//
// A backup is a folder below the target, named backup-<UTC time>:
//
//	tables/           the tables, as ClickHouse's BACKUP writes them; of a cluster, tables/<number of a shard>/
//	streams/<name>/   a stream, as JetStream's snapshot writes it
//	keys.age          the keys, encrypted by age to the recipients; only where there are some
//	manifest.json     positions, versions and the SHA-256 of every other file
//	manifest.sha256   the SHA-256 of manifest.json, in hex
//
// The tables are copied first, then the streams. A stream is therefore never older than the
// tables. The manifest names, for each stream, the last commit that was in the tables before
// the copy began. The tables are exact up to this commit. They may hold some rows of later
// commits, which the stream gives again.
//
// The stream of tree heads is copied before the streams of events. Each copied head is
// therefore a head of copied events. The copies of quarantined messages are copied after the
// streams of events. The stream of the bucket CTX_TEXTS is copied last: a text is written before the
// fact that names it, so each copied fact finds its text. The texts are encrypted under the tenants'
// keys.
//
// The leases and the memory of imports are not copied: `ctxledger migrate` makes them again.
// Keys are copied only for recipients.
//
// An incremental backup continues another backup of the target, its base. Its copy of a stream has
// only the messages after the last sequence of the base, with their sequences and times. The copy also
// lists all deleted messages, so that erased content does not come back. The copy of the tables has
// only those that no projection fills. A restore begins with the tables of the full backup, makes one
// snapshot of each stream from all its copies, and projects the rest. A message may have left the
// stream only if the tables of the full backup have it, see [ErrPurged].
//
// A backup of a cluster has the tables of all shards. No partition moves meanwhile. A restore puts each partition on
// the shard that the full backup names, also if it has moved before an incremental backup.
//
// A backup that is being made is in the folder .partial. A kill leaves only this folder, which
// the next backup removes. The rename of .partial to its name is the last step.
package backup
