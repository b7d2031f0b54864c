package modelserver

import (
	"net/http"

	"github.com/go-json-experiment/json"
)

// event is one server-sent event. Without a name only the data is sent.
type event struct {
	name string
	data any // a string is sent as it is
}

// sender writes the body of an answer and keeps it.
type sender struct {
	w     http.ResponseWriter
	sent  []byte
	halve bool // send half of a whole body only
	cut   bool // the connection must be closed in the middle of the answer
}

// encode returns the JSON text of a value, with the members of each map in sorted order.
func encode(value any) []byte {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic(err) // values of this package only
	}
	return text
}

func (s *sender) whole(status int, value any) {
	body := encode(value)
	s.w.Header().Set("content-type", "application/json")
	s.w.WriteHeader(status)
	if s.halve {
		body, s.cut = body[:len(body)/2], true
	}
	s.write(body)
}

func (s *sender) stream(events []event, cutAfter int) {
	s.w.Header().Set("content-type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("cache-control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	for i, e := range events {
		if cutAfter > 0 && i == cutAfter {
			s.cut = true
			return
		}
		var text []byte
		if e.name != "" {
			text = append(text, "event: "+e.name+"\n"...)
		}
		text = append(text, "data: "...)
		if verbatim, ok := e.data.(string); ok {
			text = append(text, verbatim...)
		} else {
			text = append(text, encode(e.data)...)
		}
		s.write(append(text, "\n\n"...))
	}
}

// write sends a part of the body at once. A client that went away is no error.
func (s *sender) write(text []byte) {
	n, _ := s.w.Write(text)
	s.sent = append(s.sent, text[:n]...)
	if flusher, ok := s.w.(http.Flusher); ok {
		flusher.Flush()
	}
}
