package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	request := api.JSApiStreamRestoreRequest{Config: config}
	begin := nats.NewMsg(fmt.Sprintf(api.JSApiStreamRestoreT, config.Name))
	if level, _ := api.RequiredApiLevel(request); level > 0 {
		begin.Header.Set(api.JSRequiredApiLevel, strconv.Itoa(level))
	}
	if begin.Data, err = json.Marshal(request); err != nil {
		return 0, err
	}
	answer, err := ask(ctx, nc, begin, partPatience)
	if err != nil {
		return 0, err
	}
	var begun api.JSApiStreamRestoreResponse
	if err := read(answer, &begun); err != nil {
		return 0, err
	}
	if err := sendParts(ctx, nc, begun.DeliverSubject, messages); err != nil {
		return 0, err
	}
	if answer, err = ask(ctx, nc, nats.NewMsg(begun.DeliverSubject), endPatience); err != nil {
		return 0, err
	}
	var done struct {
		api.JSApiResponse
		State api.StreamState `json:"state"`
	}
	err = read(answer, &done)
	return done.State.LastSeq, err
}

// sendParts sends a snapshot up to its end.
func sendParts(ctx context.Context, nc *nats.Conn, subject string, messages io.Reader) error {
	part := make([]byte, partBytes)
	for {
		n, readErr := messages.Read(part)
		if n > 0 {
			answer, err := ask(ctx, nc, &nats.Msg{Subject: subject, Data: part[:n]}, partPatience)
			if err == nil && len(answer) > 0 {
				err = read(answer, new(api.JSApiResponse))
			}
			if err != nil {
				return err
			}
		}
		if readErr == io.EOF { // another error may wrap it
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

// read reads an answer of the API. The error may be the server's.
func read(answer []byte, to interface{ ToError() error }) error {
	if err := json.Unmarshal(answer, to); err != nil {
		return err
	}
	return to.ToError()
}

// ask sends a request until a server takes it.
func ask(ctx context.Context, nc *nats.Conn, request *nats.Msg, patience time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var nobody error // takes the request so far
	for {
		answer, err := nc.RequestMsgWithContext(ctx, request)
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
