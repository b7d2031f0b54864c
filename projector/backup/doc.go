// Package backup copies both sides of an installation to a folder while everything runs.
//
// A backup is a folder below the target, named backup-<UTC time>:
//
//	tables/           the tables, as ClickHouse's BACKUP writes them
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
// A backup that is being made is in the folder .partial. A kill leaves only this folder, which
// the next backup removes. The rename of .partial to its name is the last step.
package backup
