package storage

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
)

// ReadMonitor reads what all accounts of a NATS server store, and its max_file_store, from its
// monitoring address, such as http://127.0.0.1:8222. growth is the growth of this account.
func ReadMonitor(ctx context.Context, address string, growth *Growth) (*Store, error) {
	answer, end, err := askMonitor(ctx, address, "jsz")
	if err != nil {
		return nil, err
	}
	defer end()
	var told struct {
		Config struct {
			MaxStorage int64 `json:"max_storage"`
		} `json:"config"`
		Storage int64 `json:"storage"`
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the monitoring address of NATS answers %s to /jsz", answer.Status)
	}
	if err := json.UnmarshalRead(answer.Body, &told); err != nil {
		return nil, fmt.Errorf("read the answer of the monitoring address of NATS: %w", err)
	}
	s := Store{Bytes: told.Storage, Growth: growth}
	if told.Config.MaxStorage > 0 {
		s.Limit = &told.Config.MaxStorage
	}
	s.Forecast = Estimate(leftOf(s.Limit, s.Bytes), growth)
	return &s, nil
}

// ReadHealth returns what a NATS server says is wrong with it, or "", from its monitoring address.
func ReadHealth(ctx context.Context, address string) (says string, err error) {
	answer, end, err := askMonitor(ctx, address, "healthz")
	if err != nil {
		return "", err
	}
	defer end()
	if answer.StatusCode == http.StatusOK {
		return "", nil
	}
	var told struct {
		Error string `json:"error"`
	}
	if err := json.UnmarshalRead(answer.Body, &told); err != nil || told.Error == "" {
		return "", fmt.Errorf("the monitoring address of NATS answers %s to /healthz", answer.Status)
	}
	return told.Error, nil
}

// askMonitor asks the monitoring address of a NATS server for a page. end frees the answer.
func askMonitor(ctx context.Context, address, page string) (answer *http.Response, end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	at, err := url.JoinPath(address, page)
	if err != nil {
		return nil, nil, fmt.Errorf("read the monitoring address: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read the monitoring address: %w", err)
	}
	answer, err = http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the monitoring address of NATS: %w", err)
	}
	return answer, func() { answer.Body.Close(); cancel() }, nil
}
