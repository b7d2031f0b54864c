package capture

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/publish"
)

// Texts stores the texts that do not fit into their facts. The recorder calls one method at a time.
type Texts interface {
	// Write stores a text under its digest. The fact that names it follows.
	Write(ctx context.Context, digest, text string) error
	// Settle makes sure that the texts whose facts the stream has now are stored.
	Settle(ctx context.Context) error
}

// textTimeout limits the wait for the store of texts, for each text and for Settle. The next exchanges
// wait meanwhile in memory.
const textTimeout = 5 * time.Second

// beside stores large texts beside their facts.
type beside struct {
	to        Texts // nil stores none
	client    *producer.Client
	log       *slog.Logger
	unsettled bool
	failed    bool // a text of this exchange was not stored; the others are not tried
}

var errSecret = errors.New("it holds a withheld value")

// store stores a text under its digest, and reports whether it did.
func (b *beside) store(digest, text string) bool {
	if b.failed || b.to == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), textTimeout)
	defer cancel()
	holds, err := producer.Withholds(ctx, b.client, text)
	if err == nil && holds {
		err = errSecret
	}
	if err == nil {
		err = b.to.Write(ctx, digest, text)
		b.failed = err != nil
	}
	if err != nil {
		b.log.Warn("a text was left out, its digest is recorded", "event", "text_left_out", "bytes", len(text), "reason", err.Error())
		return false
	}
	b.unsettled = true
	return true
}

// settle is for the texts of an exchange whose facts the transport has. Texts that cannot be settled now
// are settled after a later exchange.
func (b *beside) settle(t publish.Transport) {
	if !b.unsettled {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), textTimeout)
	defer cancel()
	err := t.Flush(ctx)
	if err == nil {
		err = b.to.Settle(ctx)
	}
	b.unsettled = err != nil
	if err != nil {
		b.log.Debug("texts are not settled yet", "reason", err.Error())
	}
}
