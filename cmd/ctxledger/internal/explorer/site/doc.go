// Package site serves the explorer's pages and the read API over HTTP.
//
//	/                 sessions, newest first     /?agent=&model=&day=
//	/s/SESSION        the river of a session     /t/TURN, /c/CALL, /i/ITEM by runtime ids
//	/s/SESSION/compactions, /diff, /q, /q/NAME, /evidence, /search?id=, /sql?q=
//	/events/s/SESSION an event stream: one event each time the session has new facts
//	/api/v1/…         the same answers as JSON; see openapi.json there
//
// The site reads only and has no cookies. Package access decides which requests reach it. Every
// question about the ledger is bound to the tenant of the request's token. An id that
// occurs in several sessions gets a page of choices. ?session= and ?tenant= name one of them.
package site
