// Package proof is the transparency log over the events of a stream: what a leaf
// is, the tree over the leaves, and its signed heads. It knows neither streams nor
// tables, so that who verifies needs neither.
//
// # Formats
//
//	record      every attribute, sorted by name: uvarint length, name, uvarint length, value
//	            then SHA-256(salt || data), the data verbatim
//	leaf        SHA-256(0x00 || record), as RFC 6962 has it
//	node        SHA-256(0x01 || left || right)
//	salt        first 16 bytes of HMAC-SHA256(session key, source || 0x00 || id)
//	            session key = HMAC-SHA256(tenant key, "session" || 0x00 || session)
//	            tenant key  = HMAC-SHA256(ledger secret, "tenant" || 0x00 || tenant)
//	origin      ctxledger/<stream>/<incarnation of the stream>
//	checkpoint  origin, tree size in decimal and root in base64, a line each: the
//	            tlog-checkpoint of c2sp.org, signed as a note with Ed25519
//	tile        256 hashes of one level, in order; levels 0, 8, 16, …
//
// A record is the same whether its event came in structured or in binary mode.
// Attributes are ids and times; the data may be guessed, so a leaf holds it only
// under the salt. Who has a record and its salt computes its leaf and needs no
// secret. Who has neither learns nothing of the data from the leaf. The holder of
// the ledger secret and of an event's ids can make the salt again, so the secret is
// kept as the data was.
//
// # The log
//
// There is one log a stream incarnation. The index of a leaf is the number of
// events that were accepted before it: what was refused, and what came twice, has
// no leaf. A [Tree] is the state that a log goes on from, at most 63 hashes. The
// hashes to keep are the leaves and the roots of full tiles, 32.1 bytes an event;
// all others follow from these. golang.org/x/mod/sumdb/tlog proves and checks, over
// [Tiles].
//
// # Keys
//
// A [Ring] holds the ledger secret, which stays, and the signing key, which a
// rotation replaces. What a rotation leaves of the old key is its public half,
// because the checkpoints that it signed stay. One key signs the logs of all
// streams of a ledger: the name of the key is the ledger's and the origin the log's.
package proof
