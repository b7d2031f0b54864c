package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// largestAnswer is the most that is read of one answer of a process.
const largestAnswer = 4 << 20

// Processes returns two parts for each address, the states and the metrics.
func Processes(addresses []string) (files []File) {
	for i, address := range addresses {
		name := fmt.Sprintf("projectors/%d", i+1)
		files = append(files,
			File{name + ".json", func(ctx context.Context) (any, error) { return states(ctx, address) }},
			File{name + ".txt", func(ctx context.Context) (any, error) { return metricsOf(ctx, address) }})
	}
	return files
}

// states returns the bodies of the two probes.
func states(ctx context.Context, address string) (any, error) {
	bodies := make(map[string]jsontext.Value)
	for _, path := range []string{"readyz", "healthz"} {
		body, err := get(ctx, address, path)
		if err != nil {
			return nil, err
		}
		if !jsontext.Value(body).IsValid() {
			return nil, fmt.Errorf("/%s of %s answers no JSON: is it a process of ctxledger?", path, host(address))
		}
		bodies[path] = body
	}
	return bodies, nil
}

// metricsOf returns the metrics. The id of a redaction comes from an event, so metrics with one
// stay out.
func metricsOf(ctx context.Context, address string) (any, error) {
	body, err := get(ctx, address, "metrics")
	if err != nil {
		return nil, err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(body)) {
		if !strings.Contains(line, `redaction="`) {
			kept.WriteString(line)
		}
	}
	return kept.String(), nil
}

func get(ctx context.Context, address, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/"+path, nil)
	if err != nil { // it may hold a password
		return nil, errors.New("--status needs an address such as http://127.0.0.1:9464")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("/%s of %s does not answer", path, host(address))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
		return nil, fmt.Errorf("/%s of %s answers %s", path, host(address), answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
}

// host returns the host of an address, without a password.
func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "the given address"
}
