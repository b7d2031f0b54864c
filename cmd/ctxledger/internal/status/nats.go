package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
)

// Connected is the check of a NATS server of which only the connection is known.
func Connected(isConnected func() bool) func(context.Context) error {
	return func(context.Context) error {
		if !isConnected() {
			return errors.New("NATS is not connected")
		}
		return nil
	}
}

// Healthy is Connected for a server that also says how it is. A stream that could not be written, such as on
// a full disk, takes no messages until NATS is restarted, and gives publishers no answer.
func Healthy(isConnected func() bool, health func(context.Context) error) func(context.Context) error {
	connected := Connected(isConnected)
	return func(ctx context.Context) error {
		if err := connected(ctx); err != nil {
			return err
		}
		if err := health(ctx); err != nil {
			return fmt.Errorf("NATS says: %w. If a disk was full, make room and restart NATS", err)
		}
		return nil
	}
}

// Monitor asks the monitoring address of a NATS server, such as http://127.0.0.1:8222, for its health.
func Monitor(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		at, err := url.JoinPath(address, "healthz")
		if err != nil {
			return fmt.Errorf("read the monitoring address: %w", err)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return fmt.Errorf("read the monitoring address: %w", err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("ask the monitoring address: %w", err)
		}
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		var told struct {
			Error string `json:"error"`
		}
		if err := json.UnmarshalRead(answer.Body, &told); err != nil || told.Error == "" {
			return fmt.Errorf("the monitoring address answers %s to /healthz", answer.Status)
		}
		return errors.New(told.Error)
	}
}
