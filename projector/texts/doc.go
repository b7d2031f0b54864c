// Package texts keeps texts that are too large for their events in the object bucket CTX_TEXTS.
//
// # Format
//
// A fact of an item names its text by [schema.TextRef]: the text's keyed digest. The object's name is the
// tenant of the fact, escaped as a segment of a URL's path, a slash, and the digest. A tenant that names
// the digest of another one therefore names nothing. Clients of NATS see an ordinary object:
//
//	$O.CTX_TEXTS.C.<nuid>   the text in chunks, encrypted with AES-256-GCM under a random key
//	$O.CTX_TEXTS.M.<name>   the object's information. Its metadata has
//	    wrapped             nonce and random key, encrypted with AES-256-GCM, in base64. The key of this
//	                        encryption is derived from the tenant's key
//	    key                 the id of the tenant's key
//
// Both encryptions are bound to the object's name. The random key is in the information only. Its
// message is stored once or several times with the same data, never rolled up: a message that is
// replaced would stay in the server's file. A removal overwrites these messages. The chunks that the
// file may still hold are then unreadable, also for the owner of the tenant's key.
//
// # Order
//
// An object is removed when no fact names it. Two rules keep it from removing a text that a writer is
// about to name:
//
//   - A [Writer] writes the object, then publishes the fact, and then renews the object: it stores the
//     information again. If the object is gone, the writer writes it again.
//   - A [Sweep] reads the sequence of the information, then waits until the tables have the ends of the
//     streams, then reads which objects are named. It removes the object only at that sequence.
//
// If the sweep read the renewed information, the tables have the fact. Otherwise the removal fails, or it
// comes before the renewal, which finds the object gone. A writer that dies between the fact and the
// renewal leaves a text that a sweep of the same moment may remove. Readers report such a text as absent.
package texts
