// Package retention removes the messages of events that an installation need not keep.
//
// A [Policy] limits the age and the bytes of each stream of events. The policy lies in the bucket of
// leases, so all processes have the same one. Without a policy a stream keeps everything.
//
// A [Pass] removes the first messages of each stream. NATS itself never removes a message of an event:
// the server knows neither the tables nor the signed tree heads. A pass removes a message only if
// all of these have it:
//
//   - a commit before the last one. The next start of a projector reads the last one again.
//   - a signed tree head, where the ledger has a transparency log.
//   - the tables of a full backup, where the policy says so. The restore of an incremental backup projects
//     the messages after them.
//
// The rows in the tables stay, with the identities of the events: an event that is sent again still
// counts once. A rebuild keeps these rows, see [rebuild.Rebuild]. A policy may also limit the age of
// content in the tables, by tenant; see [privacy.Tables.Expire]. Messages in quarantine lose their bytes
// by the same age. Content stays while its message is in the stream, so that a rebuild gives the same
// tables. The oldest content also leaves while a tenant has too many bytes of it. The decisions of a session
// leave last, by the age of its last event; see [privacy.Tables.ExpireDecisions]. A text in the bucket
// CTX_TEXTS is removed with the content of the last fact that names it; see package texts.
//
// Redactions, their revocations and the facts of erasures never leave an installation. A pass copies
// them to the stream CTX_LASTING first; see [Lasting]. A projector with empty tables, such as after
// the loss of ClickHouse, begins with these facts and goes on with the first message of the stream.
// A withheld value that comes back is therefore recognised.
//
// A pass excludes backups, restores and rebuilds, by their leases. A pass that was interrupted is done
// again by the next one.
package retention
