package dialect

import (
	"strconv"
)

// Message is what tells the messages of a WebSocket of the Responses API apart. Requests and
// events are objects with a type. Those with the same lane belong together, in their order.
type Message struct {
	Type   string
	Lane   string // stream_id; "" is a lane of its own
	Status int    // HTTP status of an error, 0 for other messages
}

// ReadMessage reads the members that [Message] needs. It returns false for other values.
func ReadMessage(raw []byte) (Message, bool) {
	f, ok := members(raw)
	if !ok {
		return Message{}, false
	}
	m := Message{Type: f.text("type"), Lane: short(f.text("stream_id"))}
	if m.Type == "error" {
		m.Status, _ = strconv.Atoi(string(f.get("status")))
	}
	return m, m.Type != ""
}

// Asks reports whether the message is a request.
func (m Message) Asks() bool { return m.Type == "response.create" }

// Begins reports whether the message is the first event of a response.
func (m Message) Begins() bool { return m.Type == "response.created" }

// Ends reports whether the message is the last event of a response.
func (m Message) Ends() bool {
	switch m.Type {
	case "response.completed", "response.incomplete", "response.failed", "error":
		return true
	}
	return false
}
