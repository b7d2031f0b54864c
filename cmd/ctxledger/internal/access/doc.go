// Package access decides which requests the program's HTTP server answers.
//
//	request ──▶ Host ──▶ other sites ──▶ content type ──▶ token ──▶ role ──▶ rate ──▶ handler
//
// A [Guard] stands in front of all paths: pages, read API, events, health and metrics. The handlers
// behind it read the [Identity] of the request and check no header of their own.
//
//   - Host is a name of loopback, or one that the operator named. This stops a page whose name
//     resolves to this machine.
//   - A page of another site may link to a page here. Every other request of it is refused, on
//     loopback too.
//   - A request that changes something has a content type that no form can send.
//   - Without a tokens file each request is [Local]. Only a server on loopback may do without.
//
// # The tokens file
//
// One token a line, in fields that spaces separate; # begins a comment:
//
//	name  tenant  roles          digest
//	ci    acme    publish        sha256:9f86d081884c7d65…
//	ann   acme    read,evidence  sha256:60303ae22b998861…
//
// The tenant is percent-encoded as in a URL path. The digest is SHA-256 of the whole token. A token
// has 256 random bits, so a slow hash would add nothing. A request sends it as "Authorization:
// Bearer TOKEN", or as the password of HTTP Basic with any user name. Its digest is compared with all
// digests of the file in constant time.
//
// The file is read again after each change, without a restart. If the file has an error, the tokens
// of the last good file stay valid, and the log reports it. If the file is gone, no token is valid.
//
// # Roles
//
//	read      pages, event streams and the read API
//	publish   POST /v1/events, /v1/logs and /v1/traces, GET /v1/receipts
//	evidence  the evidence page and its answers in the read API; POST /evidence/packs and
//	          /evidence/verdicts, which make and verify a pack
//
// /healthz and /readyz need no token.
//
// # Rates
//
// Each token has a rate of requests to pages and one of requests with events, see [Config]. An
// address may send 20 wrong tokens at once, and then one a second. Further requests get 429.
package access
