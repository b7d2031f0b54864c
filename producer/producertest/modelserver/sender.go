package modelserver

import (
	"net/http"
	"slices"
	"time"

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
	fault Fault
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
	if s.fault.Malformed != "" {
		body = []byte(s.fault.Malformed)
	}
	if s.fault.CutAfter > 0 {
		body, s.cut = body[:len(body)/2], true
	}
	s.write(body)
}

func (s *sender) stream(events []event) {
	s.w.Header().Set("content-type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("cache-control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	for i, e := range events {
		if s.fault.CutAfter > 0 && i == s.fault.CutAfter {
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
		if i == 0 && s.fault.Malformed != "" {
			s.write([]byte(s.fault.Malformed))
		}
	}
}

// write sends a part of the body at once, or in pieces. A client that went away is no error.
func (s *sender) write(text []byte) {
	_ = s.fault.each(text, func(piece []byte) error {
		n, err := s.w.Write(piece)
		s.sent = append(s.sent, piece[:n]...)
		if flusher, ok := s.w.(http.Flusher); ok {
			flusher.Flush()
		}
		return err
	})
}

// each calls write with the pieces of a text, up to the first error.
func (f *Fault) each(text []byte, write func(piece []byte) error) error {
	if f.Piece <= 0 {
		return write(text)
	}
	for piece := range slices.Chunk(text, f.Piece) {
		if err := write(piece); err != nil {
			return err
		}
		time.Sleep(f.Pause)
	}
	return nil
}
