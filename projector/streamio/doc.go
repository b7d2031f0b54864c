// Package streamio reads the streams of events, and creates them.
//
// A stream has an incarnation and rules in its metadata. [EnsureStreams] creates the streams.
// [EnsureRules] sets the sequence from which the newest rules apply. A [Source] is an open
// stream. Its [Reader] returns each [Message] in the order of the stream, and never
// acknowledges one.
//
// The digest of a message covers all inputs of its rows; see [Message.Sum]. The digest of a
// range covers the digests of its messages; see [RangeOf]. The journal and the commits
// recognise a range by its digest.
//
// # Tenants with streams of their own
//
// Tenants share the streams. [EnsureTenant] gives one tenant streams of its own:
//
//	CTX          ctx.v1.default.>  ctx.v1.umbrella.>      the shared stream, once a tenant left it
//	CTX_0-acme   ctx.v1.acme.*.p00.>  …  ctx.v1.acme.*.p7f.>
//	CTX_1-acme   ctx.v1.acme.*.p80.>  …  ctx.v1.acme.*.pff.>
//
// The server refuses streams whose subjects overlap. Therefore the shared streams list every tenant
// without streams of its own, as soon as there is a tenant with them. The other way is to map the
// subjects of such a tenant in the accounts of the server. The list is simpler: a subject still
// names its tenant, so producers, permissions and rules stay as they are, on any server. It is also exact:
// the server sees to it that one stream takes a subject, whoever publishes. The price is that a new tenant
// needs a command, and until then its publishers keep their facts.
//
// The events that the tenant had stay in the shared streams, which get no more of them. So every event there
// comes before every event in the tenant's own streams, and the projector uses this order for identities.
//
// The server also reports a message as not found after a failure to read it. [ProveDeleted]
// therefore reads the list of deleted messages.
package streamio
