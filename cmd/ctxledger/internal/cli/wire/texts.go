package wire

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

// lateTexts writes large texts to the bucket as soon as the server can be reached. An account that may not
// write there is asked once a minute. It implements [capture.Texts].
type lateTexts struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	tenant string
	ring   schema.KeyRing
	writer *texts.Writer // nil until the bucket was seen to take texts
	closed error         // why it did not, when it was asked last
	next   time.Time     // when to ask again
}

// Errors of texts that are not stored.
var (
	errAway = errors.New("the NATS server is away")
	errFull = errors.New("too many texts wait for their facts")
)

// askAgain is the time after which a bucket that takes no texts is asked again.
const askAgain = time.Minute

// Write stores a text, encrypted under the key that made its digest.
func (l *lateTexts) Write(ctx context.Context, digest, text string) error {
	switch {
	case !l.nc.IsConnected():
		return errAway
	case l.writer == nil && time.Now().Before(l.next):
		return l.closed
	case l.writer == nil:
		if l.writer, l.closed = texts.OpenWriter(ctx, l.js, l.tenant, l.ring.Keys[0]); l.closed != nil {
			l.next = time.Now().Add(askAgain)
			return l.closed
		}
	case l.writer.Full():
		return errFull
	}
	return l.writer.Write(ctx, digest, text)
}

// Settle makes sure that the bucket has the texts whose facts the stream has now.
func (l *lateTexts) Settle(ctx context.Context) error {
	if l.writer == nil {
		return nil
	}
	return l.writer.Settle(ctx)
}
