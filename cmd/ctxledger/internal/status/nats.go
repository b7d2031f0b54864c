package status

import (
	"context"
	"errors"
	"fmt"
)

// Connected is the check of a NATS server if nothing but the connection is known.
func Connected(isConnected func() bool) func(context.Context) error {
	return func(context.Context) error {
		if !isConnected() {
			return errors.New("NATS is not connected")
		}
		return nil
	}
}

// Healthy is Connected for a server that also says what is wrong with it, or "". A stream that could not be
// written, such as on a full disk, takes no messages until NATS is restarted, and gives publishers no answer.
func Healthy(isConnected func() bool, health func(context.Context) (says string, err error)) func(context.Context) error {
	connected := Connected(isConnected)
	return func(ctx context.Context) error {
		if err := connected(ctx); err != nil {
			return err
		}
		says, err := health(ctx)
		if err == nil && says != "" {
			err = fmt.Errorf("NATS says: %s. If a disk was full, make room and restart NATS", says)
		}
		return err
	}
}
