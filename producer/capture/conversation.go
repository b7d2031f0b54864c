package capture

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/capture/frame"
)

// Conversation copies a WebSocket on which a client talks to a model. Each request with its
// events becomes one exchange. The copies are read in the background. Sent and Received are for
// one goroutine each.
type Conversation struct {
	r    *Recorder
	head head
	read *lanes

	mu       sync.Mutex // guards the fields below
	chunks   []chunk
	changed  *sync.Cond
	busy     bool // the reader works
	ended    bool
	finished bool // the reader has returned
}

// chunk is a copy of bytes that passed.
type chunk struct {
	bytes []byte
	sent  bool // by the client
	at    time.Time
}

// Conversation returns the copy of a WebSocket that a request asks for, or nil if no windows pass
// on it. Nothing is read before [Conversation.Opened].
func (r *Recorder) Conversation(req *http.Request) *Conversation {
	if req.Method != http.MethodGet || !strings.EqualFold(req.Header.Get("Upgrade"), "websocket") {
		return nil
	}
	of, does, ok := dialect.Match(http.MethodPost, req.URL.Path)
	if !ok || of != dialect.OpenAIResponses || does != dialect.Generate {
		return nil
	}
	c := &Conversation{r: r, head: r.readHead(req)}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Opened starts the reading after the provider has answered with the headers h. Opened returns
// false if the messages cannot be read, because the sides agreed on an unknown extension. The
// caller ends an opened conversation with [Conversation.End].
func (c *Conversation) Opened(h http.Header) bool {
	client, server, known := frame.Negotiated(h)
	if !known || !c.r.conversations.add(c) {
		return false
	}
	c.read = newLanes(c.r, c.head, client, server)
	go c.work()
	return true
}

// Sent copies bytes of the client. Call it before the bytes go to the provider, so that a
// request is there before its events.
func (c *Conversation) Sent(p []byte) { c.put(p, true) }

// Received copies bytes of the provider. Call it before the bytes go to the client.
func (c *Conversation) Received(p []byte) { c.put(p, false) }

// put never waits. When too many bytes wait, the conversation is recorded no further.
func (c *Conversation) put(p []byte, sent bool) {
	if len(p) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if !c.r.conversations.reserve(len(p), c.r.config.MaxWaiting) {
		c.r.drop()
		c.ended = true
	} else {
		c.chunks = append(c.chunks, chunk{append([]byte(nil), p...), sent, time.Now().UTC()})
	}
	c.changed.Broadcast()
}

// End gives the exchanges that are under way to the recorder. Later bytes are not recorded.
func (c *Conversation) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.changed.Broadcast()
}

// work reads the chunks until the end.
func (c *Conversation) work() {
	defer c.finish()
	for {
		list, ended := c.take()
		for i := range list {
			c.read.write(list[i])
			c.r.conversations.release(len(list[i].bytes))
			list[i] = chunk{}
		}
		if ended && len(list) == 0 {
			c.read.end()
			return
		}
	}
}

// take waits for chunks or the end.
func (c *Conversation) take() (list []chunk, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	c.changed.Broadcast()
	for len(c.chunks) == 0 && !c.ended {
		c.changed.Wait()
	}
	list, c.chunks, c.busy = c.chunks, nil, true
	return list, c.ended
}

func (c *Conversation) finish() {
	c.r.conversations.remove(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.finished = false, true
	c.changed.Broadcast()
}

// idle waits until all bytes that passed are read, and after the end also until the exchanges
// that were under way are recorded.
func (c *Conversation) idle(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.finished && (len(c.chunks) > 0 || c.busy || c.ended) && ctx.Err() == nil {
		c.changed.Wait()
	}
}

// conversations are the open conversations of a recorder. The zero value has none. Safe for
// concurrent use.
type conversations struct {
	mu      sync.Mutex // guards the fields below
	open    map[*Conversation]bool
	waiting int64 // bytes of their chunks
	closed  bool
}

func (l *conversations) add(c *Conversation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[*Conversation]bool)
	}
	if l.closed {
		return false
	}
	l.open[c] = true
	return true
}

func (l *conversations) remove(c *Conversation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
}

// reserve takes room for n bytes and returns false if there is none.
func (l *conversations) reserve(n int, most int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting > 0 && l.waiting+int64(n) > most {
		return false
	}
	l.waiting += int64(n)
	return true
}

func (l *conversations) release(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting -= int64(n)
}

// idle waits until the bytes of all conversations are read.
func (l *conversations) idle(ctx context.Context) {
	for _, c := range l.all() {
		c.idle(ctx)
	}
}

// close ends all conversations, and waits until they are recorded.
func (l *conversations) close(ctx context.Context) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	list := l.all()
	for _, c := range list {
		c.End()
	}
	for _, c := range list {
		c.idle(ctx)
	}
}

func (l *conversations) all() []*Conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.open))
}
