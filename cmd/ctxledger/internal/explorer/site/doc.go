// Package site serves the explorer's pages and the read API over HTTP.
//
//	/                 sessions, newest first     /?agent=&model=&day=
//	/s/SESSION        the river of a session     /t/TURN, /c/CALL, /i/ITEM by runtime ids
//	/s/SESSION/compactions, /diff, /q, /q/NAME, /evidence, /search?id=, /sql?q=
//	/s/SESSION/calls?from=&to=      compares two calls by their numbers, or shows those between
//	POST /evidence/packs            makes a pack: JSON goes in, a zip comes out
//	POST /evidence/verdicts         verifies a pack: a zip goes in, a page comes out
//	/events/s/SESSION an event stream: one event each time the session has new events
//	/api/v1/…         the same answers as JSON; see openapi.json there
//
// The site only reads, with one exception: the making of a pack is recorded as a fact. The site has
// no cookies. Package access decides which requests reach it. Every question about the ledger is
// bound to the tenant of the request's token. An id that occurs in several sessions gets a page of
// choices. ?session= and ?tenant= name one of them.
package site
