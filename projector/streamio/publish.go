package streamio

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// PublishOnce publishes a message under a message id. A repeat within the duplicate window
// stores the message once. The tenants of a stream share message ids. If another message has
// taken the id, PublishOnce publishes under a random id.
func PublishOnce(ctx context.Context, js jetstream.JetStream, msg *nats.Msg, id string) (*jetstream.PubAck, error) {
	ack, err := js.PublishMsg(ctx, msg, jetstream.WithMsgID(id))
	if err != nil || !ack.Duplicate {
		return ack, err
	}
	stored, err := js.Stream(ctx, ack.Stream)
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", ack.Stream, err)
	}
	first, err := stored.GetMsg(ctx, ack.Sequence)
	switch {
	case err == nil && first.Subject == msg.Subject && bytes.Equal(first.Data, msg.Data):
		return ack, nil
	case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, fmt.Errorf("look up message %d: %w", ack.Sequence, err)
	}
	return js.PublishMsg(ctx, msg, jetstream.WithMsgID(uuid.NewString()))
}
