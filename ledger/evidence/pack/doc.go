// Package pack reads and writes evidence packs: the names of the files and the format of their
// bytes. The package needs no server. Neither the source nor the truth of the facts is checked.
//
// A pack is a function of its records. Every document is derived from the lines of events.ndjson
// and the [Header]. Holders of the records can make the documents again and compare the bytes. A
// pack is a folder, or a zip of that folder:
//
//	header.json             data outside of the records: the pack's id, time, scope ([Header])
//	events.ndjson           the records, one [Record] a line, by log and log index
//	proofs/1/checkpoint     the signed head of a log (c2sp tlog-checkpoint, as a
//	                        signed note); proofs/2 and so on for further logs
//	proofs/1/leaves         a [LeafLine] for each record of that log
//	proofs/1/hashes         the multiproof of those leaves, a hash a line
//	context/<kind>.json     Agent Context documents ([ContextFile])
//	pack.json, source-map.json, provenance.json, replay.json, verification.json
//	                        Agent Evidence documents
//	README.md               for people
//	index.html              a page for people; earlier packs have none. It is not derived byte
//	                        for byte, but its figures are, see document.Account
//	export-manifest.json    Agent Evidence: every file above, its size and SHA-256
//	attestation.dsse.json   in-toto Statement over the manifest's digest, in a
//	                        DSSE envelope signed with Ed25519
//
// The records of one log are consecutive. The log of proofs/1 comes first. The number of lines in
// the file leaves is the number of records of that log.
//
// A document file is JSON with each entry on a separate line, so a line number identifies an entry.
// [Writer] makes a pack that appears complete or not at all. [Open] reads packs that can be
// hostile, within [Limits], and writes nothing. Open refuses zips that tools can read in different
// ways: zips with bytes outside of all entries, or with contradicting entries.
package pack
