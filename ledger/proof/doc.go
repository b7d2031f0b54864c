// Package proof implements the transparency log over the events of a stream: its leaves, the tree
// over the leaves, and the signed tree heads. Verifiers need neither streams nor tables.
//
// # Formats
//
//	record      every attribute, sorted by name: uvarint length, name, uvarint length, value
//	            then SHA-256(salt || data), the data verbatim
//	leaf        SHA-256(0x00 || record), as in RFC 6962
//	node        SHA-256(0x01 || left || right)
//	salt        first 16 bytes of HMAC-SHA256(session key, source || 0x00 || id)
//	            session key = HMAC-SHA256(tenant key, "session" || 0x00 || session)
//	            tenant key  = HMAC-SHA256(ledger secret, "tenant" || 0x00 || tenant)
//	origin      ctxledger/<stream>/<incarnation of the stream>
//	checkpoint  origin, tree size in decimal and root in base64, a line each: the
//	            tlog-checkpoint of c2sp.org, signed as a note with Ed25519
//	tile        256 hashes of one level, in order; levels 0, 8, 16, …
//
// An event has the same record in structured and in binary mode. Attributes are ids and times. Data
// can be guessed, so a leaf contains only the salted hash of the data. Holders of a record and its
// salt can compute its leaf without any secret. Without record and salt, a leaf reveals nothing
// about the data. Holders of the ledger secret and of an event's ids can compute its salt. The
// ledger secret therefore needs the same protection as the data.
//
// # The log
//
// There is one log per stream incarnation. The index of a leaf is the number of events that were
// accepted before its event. Refused events and duplicates have no leaf. A [Tree] is the state for
// appending to a log, at most 63 hashes. The stored hashes are the leaves and the roots of full
// tiles. All other hashes are computed from these hashes. golang.org/x/mod/sumdb/tlog makes and
// checks proofs over [Tiles].
//
// # Keys
//
// A [Ring] holds the ledger secret and the signing key. A rotation replaces the signing key and
// keeps the ledger secret. The public half of each old key remains, because the checkpoints that it
// signed remain. One key signs the logs of all streams of a ledger. The name of the key identifies
// the ledger, the origin identifies the log.
package proof
