package gateway

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/schema"
)

// Outcome is what became of one event.
type Outcome string

// Outcomes of events; see the package comment.
const (
	Stored      Outcome = "stored"
	Valid       Outcome = "valid"
	Refused     Outcome = "refused"
	NotStored   Outcome = "not_stored"
	Unconfirmed Outcome = "unconfirmed"
)

// Verdict is the answer to one event.
type Verdict struct {
	Index      int               `json:"index"`            // place in the request, from 0
	ID         string            `json:"id,omitempty"`     // of the event, shortened
	Source     string            `json:"source,omitempty"` // of the event, shortened
	Outcome    Outcome           `json:"verdict"`
	Stream     string            `json:"stream,omitempty"`   // of a stored event
	Sequence   uint64            `json:"sequence,omitempty"` // position in the stream, from 1
	Violations schema.Violations `json:"violations,omitempty"`
}

// Answer is the body of an answer with verdicts.
type Answer struct {
	Stored  int       `json:"stored"`  // number of stored events
	Refused int       `json:"refused"` // number of refused events
	Events  []Verdict `json:"events"`  // in the order of the request
}

// Problem is the body of every other answer than 200 (RFC 9457).
type Problem struct {
	Type   string `json:"type"` // urn:ctxledger:problem:<code>
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Fix    string `json:"fix"`
	// Index is the place of the event that made the body unreadable.
	Index *int `json:"index,omitempty"`
	// Stored, Refused and Events are those of an Answer, nil if no event was judged.
	Stored  *int      `json:"stored,omitempty"`
	Refused *int      `json:"refused,omitempty"`
	Events  []Verdict `json:"events,omitempty"`

	allow string // the method that the path allows
}

func problem(status int, code, detail, fix string) *Problem {
	return &Problem{Type: "urn:ctxledger:problem:" + code, Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Fix: fix}
}

func busy(why string) *Problem {
	return problem(http.StatusTooManyRequests, "busy", why, "send the request again after Retry-After seconds")
}

// with adds the verdicts to a problem.
func (p *Problem) with(a *Answer) *Problem {
	p.Stored, p.Refused, p.Events = &a.Stored, &a.Refused, a.Events
	return p
}

// retryAfter is the value of the Retry-After header, in seconds.
const retryAfter = 1

func (p *Problem) write(w http.ResponseWriter) {
	p.writeHead(w)
	writeJSON(w, p.Status, "application/problem+json", p)
}

// writeHead sets the headers that belong to the status.
func (p *Problem) writeHead(w http.ResponseWriter) {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", p.allow)
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Basic realm="ctxledger"`)
	case http.StatusUnsupportedMediaType:
		w.Header().Set("Accept-Encoding", "gzip, zstd")
	}
}

func writeJSON(w http.ResponseWriter, status int, contentType string, value any) {
	body, err := json.Marshal(value)
	if err != nil { // all texts were checked to be UTF-8
		status, body = http.StatusInternalServerError, nil
	}
	writeBody(w, status, contentType, body)
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away needs no answer
}

// Unavailable answers a request while no NATS server can be reached. Programs that connect at
// the first request use it. The answer names no address.
func Unavailable(w http.ResponseWriter) {
	unavailable("the NATS server cannot be reached").problem().write(w)
}
