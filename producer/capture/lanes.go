package capture

import (
	"time"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/capture/frame"
	"github.com/ctxledger/ctxledger/schema"
)

// maxUnderWay is the number of exchanges of a conversation that wait for their last event.
const maxUnderWay = 256

// lanes turn the messages of a conversation into exchanges. The requests of a lane are answered
// one after the other. lanes is for one goroutine.
type lanes struct {
	r        *Recorder
	head     head
	client   *frame.Reader
	provider *frame.Reader
	at       time.Time         // when the bytes that are read passed
	underWay map[string][]*Tap // by lane, the first is answered now
	broken   bool              // nothing more can be read
}

func newLanes(r *Recorder, h head, client, provider frame.Deflate) *lanes {
	l := &lanes{r: r, head: h, underWay: make(map[string][]*Tap)}
	l.client = frame.NewReader(client, l.request)
	l.provider = frame.NewReader(provider, l.event)
	return l
}

// write reads the next bytes. Bytes that cannot be read end the exchanges that are under way.
func (l *lanes) write(c chunk) {
	if l.broken {
		return
	}
	from := l.provider
	if c.sent {
		from = l.client
	}
	l.at = c.at
	if err := writeSafely(from, c.bytes); err != nil {
		l.broken = true
		l.unread(err.Error())
		l.end(string(schema.PartialTruncated))
	}
}

// writeSafely makes an error of a panic, so that the connection passes on.
func writeSafely(to *frame.Reader, p []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = frame.ErrMessage // the cause may quote content
		}
	}()
	_, err = to.Write(p)
	return err
}

// unread counts what is no exchange.
func (l *lanes) unread(reason string) {
	l.r.counts.unread.Add(1)
	l.r.config.Log.Warn("a part of a WebSocket was not recorded", "reason", reason)
}

// request begins an exchange. Any other message of the client may change the windows of those
// that are under way.
func (l *lanes) request(message []byte) {
	m, ok := dialect.ReadMessage(message)
	if !ok || !m.Asks() {
		l.unread("a message of the client is no request")
		for _, list := range l.underWay {
			for _, t := range list {
				t.partial = append(t.partial[:0], string(schema.PartialEntries))
			}
		}
		return
	}
	if l.count() >= maxUnderWay {
		l.r.drop()
		return
	}
	t := &Tap{r: l.r, head: l.head, at: l.at}
	t.exchange.Dialect, t.exchange.Operation = dialect.OpenAIResponses, dialect.Generate
	t.received.kind = "text/event-stream"
	t.Sent(message)
	l.underWay[m.Lane] = append(l.underWay[m.Lane], t)
}

func (l *lanes) count() (n int) {
	for _, list := range l.underWay {
		n += len(list)
	}
	return n
}

// event continues an exchange, and ends it with its last event.
func (l *lanes) event(message []byte) {
	m, readable := dialect.ReadMessage(message)
	lane, found := l.laneOf(m)
	switch {
	case found:
	case !readable:
		l.unread("an event is of no known response")
		return
	case m.Begins():
		l.unread("nobody asked for a response")
		return
	default:
		return
	}
	t := l.underWay[lane][0]
	if t.exchange.Answer.Status = m.Status; m.Status == 0 {
		t.exchange.Answer.Status = 200
	}
	t.Received(asEvent(message))
	if m.Ends() {
		l.pop(lane)
	}
}

// laneOf returns the lane of an event. An event without a lane is of the only exchange.
func (l *lanes) laneOf(m dialect.Message) (lane string, found bool) {
	if len(l.underWay[m.Lane]) > 0 {
		return m.Lane, true
	}
	if m.Lane != "" || l.count() != 1 {
		return "", false
	}
	for lane = range l.underWay {
		return lane, true
	}
	return "", false
}

// pop ends the first exchange of a lane.
func (l *lanes) pop(lane string) {
	list := l.underWay[lane]
	if l.underWay[lane] = list[1:]; len(list) == 1 {
		delete(l.underWay, lane)
	}
	list[0].End()
}

// asEvent returns a message as an event of a stream. An event has one line, so line breaks
// between the tokens become spaces.
func asEvent(message []byte) []byte {
	out := append([]byte("data: "), message...)
	for i := range out {
		if out[i] == '\n' || out[i] == '\r' {
			out[i] = ' '
		}
	}
	return append(out, "\n\n"...)
}

// end records the exchanges that are under way as far as they are known.
func (l *lanes) end(partial ...string) {
	for lane, list := range l.underWay {
		for range list {
			l.underWay[lane][0].partial = append(l.underWay[lane][0].partial, partial...)
			l.pop(lane)
		}
	}
}
