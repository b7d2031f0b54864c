package modelserver

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// asksForWebSocket reports whether a request asks for the WebSocket of the Responses API.
func asksForWebSocket(in *http.Request) bool {
	return in.Method == http.MethodGet && strings.EqualFold(in.Header.Get("Upgrade"), "websocket") && path.Base(in.URL.Path) == "responses"
}

// connection is an open WebSocket. Its responses can be continued on it.
type connection struct {
	*websocket.Conn
	slow  *slowly
	head  *http.Request
	items map[string][]jsontext.Value // response id → its input and its output
}

// talk answers the messages of a WebSocket, one after the other.
func (s *Server) talk(w http.ResponseWriter, in *http.Request) {
	slow := &slowly{ResponseWriter: w}
	conn, err := websocket.Accept(slow, in, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1)
	c := connection{Conn: conn, slow: slow, head: in, items: make(map[string][]jsontext.Value)}
	for {
		_, message, err := conn.Read(in.Context())
		if err != nil {
			return
		}
		r := &Request{Method: in.Method, Target: in.RequestURI, Header: in.Header.Clone(), Body: message, At: time.Now(), Dialect: OpenAIResponses, Message: Message{WebSocket: true}}
		err = s.reply(in.Context(), &c, r)
		s.keep(r, &sender{sent: r.Sent})
		if err != nil {
			return
		}
	}
}

var errCut = errors.New("the script cuts the connection")

// reply answers one message.
func (s *Server) reply(ctx context.Context, c *connection, r *Request) error {
	var e envelope
	_ = json.Unmarshal(r.Body, &e)
	r.Warmup = e.Generate != nil && !*e.Generate
	before, known := c.items[e.Previous]
	r.Earlier = before
	s.number(r)
	fault := r.Answer.Fault
	r.Status = http.StatusOK
	c.slow.fault = fault
	send := func(members map[string]any) error {
		if e.Lane != "" {
			members["stream_id"] = e.Lane
		}
		text := encode(members)
		r.Sent = append(append(r.Sent, text...), '\n')
		return c.Write(ctx, websocket.MessageText, text)
	}
	if fault.Status == 0 && e.Previous != "" && !known {
		fault.Status = http.StatusBadRequest
	}
	if fault.Status != 0 {
		r.Status, r.MessageID = fault.Status, ""
		body := r.errorBody(fault.Status)
		body["type"], body["status"] = "error", fault.Status
		return send(body)
	}
	whole, events := r.responses()
	items := append(before[:len(before):len(before)], r.List("input")...)
	for _, item := range whole["output"].([]any) {
		items = append(items, encode(item))
	}
	c.items[r.MessageID] = items
	for i, e := range events {
		if fault.CutAfter > 0 && i == fault.CutAfter {
			return errCut
		}
		if err := send(e.data.(map[string]any)); err != nil {
			return err
		}
		if i == 0 && fault.Malformed != "" {
			r.Sent = append(append(r.Sent, fault.Malformed...), '\n')
			if err := c.Write(ctx, websocket.MessageText, []byte(fault.Malformed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// slowly is a writer whose connection sends the bytes of an answer as the fault of the answer says.
type slowly struct {
	http.ResponseWriter
	fault Fault // for the goroutine that answers
}

// Hijack returns the connection.
func (s *slowly) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c := &slowConn{conn, s}
	return c, bufio.NewReadWriter(buffered.Reader, bufio.NewWriter(c)), nil
}

type slowConn struct {
	net.Conn
	s *slowly
}

func (c *slowConn) Write(p []byte) (n int, err error) {
	err = c.s.fault.each(p, func(piece []byte) error {
		sent, err := c.Conn.Write(piece)
		n += sent
		return err
	})
	return n, err
}
