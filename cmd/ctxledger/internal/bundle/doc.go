// Package bundle packs the state of an installation into one zip file for a support request.
//
//	doctor.json         the findings of doctor
//	versions.json       versions of the program, the contract, the tables and both servers
//	configuration.json  settings with their origins; addresses without passwords
//	streams.json        streams and their consumers: limits, positions, sizes
//	lease.json          entries of the bucket of leases: owner, epoch, open range
//	commits.json        last committed ranges of each stream, with the number of rows by table
//	quarantine.json     number of quarantined messages by code
//	migrations.json     newest change that this program knows, and the steps that the tables lack
//	storage.json        what both sides take, as `ctxledger storage`
//	projectors/N.json   the answers of a process: /readyz and /healthz
//	projectors/N.txt    its metrics, without those that name a redaction
//	clickhouse.log      warnings of the engine of `up`: time, level, part and error code
//
// A part that cannot be read has the error in its place. No file holds the content of an event, a
// key, or free text of a log. Three steps keep secrets out: each part takes only the fields that
// its type names, the passwords of the installation are masked in all forms that package redact
// finds, and so are the values that package secrets detects.
package bundle
