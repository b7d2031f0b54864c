// Package pack is the format of an evidence pack: what a pack's files are
// called, how their bytes are made and read, and nothing about where the facts
// come from or whether they are true. It needs no server.
//
// A pack is a function of its records: every document in it is derived from
// the lines of events.ndjson and the [Header], so that whoever has the records
// can make the documents again and compare the bytes. It is a folder, or a zip
// of that folder:
//
//	header.json             what no record tells: the pack's id, time, scope ([Header])
//	events.ndjson           the records, one [Record] a line, by log and log index
//	proofs/1/checkpoint     the signed head of a log (c2sp tlog-checkpoint, as a
//	                        signed note); proofs/2 and so on for further logs
//	proofs/1/leaves         a [LeafLine] for each record of that log
//	proofs/1/hashes         the multiproof of those leaves, a hash a line
//	context/<kind>.json     Agent Context documents ([ContextFile])
//	pack.json, source-map.json, provenance.json, replay.json, verification.json
//	                        Agent Evidence documents
//	README.md               for people
//	export-manifest.json    Agent Evidence: every file above, its size and SHA-256
//	attestation.dsse.json   in-toto Statement over the manifest's digest, in a
//	                        DSSE envelope signed with Ed25519
//
// Records of one log follow each other, those of proofs/1 first; how many are
// of which log is the number of lines of its leaves.
//
// A document file is JSON of which each entry has a line of its own, so that a
// place in it can be named by its line. [Writer] makes a pack, a folder that
// appears whole or not at all; [Open] reads one that may be hostile, within
// [Limits], and writes nothing anywhere. A zip that tools could read in different ways,
// with bytes that no entry owns or entries told differently at their two places, is no
// pack.
package pack
