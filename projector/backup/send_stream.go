package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/jsm.go/api"
	"github.com/nats-io/nats.go"
)

const (
	partBytes = 64 << 10
	// partPatience is how long a restore waits for the answer to a part of a stream.
	partPatience = time.Minute
	// endPatience is how long a restore waits until the server has stored the parts.
	endPatience = time.Hour
)

// sendStream restores a stream by JetStream's API: it sends the configuration, and then the snapshot of the
// messages in parts. It returns the last sequence of the stream.
//
// jsm.go sends each part once. In a cluster the server of the connection may not know yet which server takes the
// parts, and then the restore ends: nobody gets the first part. sendStream sends that part again.
func sendStream(ctx context.Context, nc *nats.Conn, config api.StreamConfig, messages io.Reader) (last uint64, err error) {
	var begun api.JSApiStreamRestoreResponse
	request, err := json.Marshal(map[string]any{"config": config})
	if err != nil {
		return 0, err
	}
	answer, err := ask(ctx, nc, fmt.Sprintf(api.JSApiStreamRestoreT, config.Name), request, partPatience)
	if err != nil {
		return 0, err
	}
	if err := read(answer, &begun); err != nil {
		return 0, err
	}
	part := make([]byte, partBytes)
	for {
		n, readErr := io.ReadFull(messages, part)
		if n > 0 {
			answer, err := ask(ctx, nc, begun.DeliverSubject, part[:n], partPatience)
			if err != nil {
				return 0, err
			}
			if len(answer) > 0 {
				if err := read(answer, new(api.JSApiResponse)); err != nil {
					return 0, err
				}
			}
		}
		if errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF) {
			break
		}
		if readErr != nil {
			return 0, readErr
		}
	}
	if answer, err = ask(ctx, nc, begun.DeliverSubject, nil, endPatience); err != nil {
		return 0, err
	}
	var done struct {
		api.JSApiResponse
		State api.StreamState `json:"state"`
	}
	err = read(answer, &done)
	return done.State.LastSeq, err
}

// read reads an answer of the API. The error may be the server's.
func read(answer []byte, to interface{ ToError() error }) error {
	if err := json.Unmarshal(answer, to); err != nil {
		return err
	}
	return to.ToError()
}

// ask sends a request until a server takes it.
func ask(ctx context.Context, nc *nats.Conn, subject string, data []byte, patience time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var nobody error // takes the request so far
	for {
		answer, err := nc.RequestWithContext(ctx, subject, data)
		if err == nil {
			return answer.Data, nil
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			return nil, errors.Join(nobody, err)
		}
		nobody = err
		select {
		case <-ctx.Done():
			return nil, errors.Join(nobody, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
