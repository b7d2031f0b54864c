package record

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

// openTexts returns a writer of texts that are too large for their events. It returns nil if there is no
// bucket, or if the account may not write to it. Such texts are then left out.
func openTexts(ctx context.Context, a *cli.App, js jetstream.JetStream, tenant string, key schema.Key) *texts.Writer {
	w, err := texts.OpenWriter(ctx, js, tenant, key)
	if errors.Is(err, texts.ErrNoBucket) {
		return nil
	}
	if err != nil {
		_ = ui.Line(a.Err, "texts of 64 KiB and more are left out, because the bucket %s cannot be written: %v", streamio.TextsBucket, err)
		return nil
	}
	return w
}

// largeTexts are the texts of the facts of a log that are not published yet.
type largeTexts map[*schema.Event]string

// of returns options that collect the texts, if o stores large texts.
func (l largeTexts) of(o model.Options) model.Options {
	if o.LargeText != nil {
		o.LargeText = func(e *schema.Event, text string) { l[e] = text }
	}
	return o
}

// publishWithText stores the text of a fact, and publishes the fact.
func (s *streamSide) publishWithText(ctx context.Context, e *schema.Event, digest, text string) error {
	if s.texts == nil { // the connection is not the one with which the import began
		return errors.New("the bucket " + streamio.TextsBucket + " has gone or cannot be written any more")
	}
	if err := s.texts.Write(ctx, digest, text); err != nil {
		return err
	}
	if err := s.publisher.Publish(ctx, e); err != nil || !s.texts.Full() {
		return err
	}
	return s.settle(ctx)
}

// settle waits until the stream has the facts and the bucket has their texts.
func (s *streamSide) settle(ctx context.Context) error {
	if err := s.publisher.Flush(ctx); err != nil || s.texts == nil {
		return err
	}
	return s.texts.Settle(ctx)
}
