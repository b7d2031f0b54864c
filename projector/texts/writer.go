package texts

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// mostUnsettled is the size of the texts after which a [Writer] asks to be settled.
const mostUnsettled = 32 << 20

// Writer writes the texts of one tenant. It is not safe for concurrent use.
type Writer struct {
	bucket    *Bucket
	tenant    string
	key       schema.Key
	unsettled map[Name]string
	bytes     int
}

// ErrNoBucket means that an installation of an earlier version has no bucket.
var ErrNoBucket = errors.New("there is no bucket " + streamio.TextsBucket + ": `ctxledger migrate` makes it")

// OpenWriter returns a writer for a tenant, after it has seen that the account may write. Errors:
// [ErrNoBucket], or an error of the server.
func OpenWriter(ctx context.Context, js jetstream.JetStream, tenant string, key schema.Key) (*Writer, error) {
	bucket, err := Open(ctx, js)
	if err == nil && bucket == nil {
		err = ErrNoBucket
	}
	if err == nil {
		err = bucket.CheckWritable(ctx)
	}
	if err != nil {
		return nil, err
	}
	return NewWriter(bucket, tenant, key), nil
}

// NewWriter returns a writer for a tenant, which encrypts under its key.
func NewWriter(b *Bucket, tenant string, key schema.Key) *Writer {
	return &Writer{bucket: b, tenant: schema.TenantOf(tenant), key: key, unsettled: make(map[Name]string)}
}

// Write stores a text under its digest. The caller then publishes the fact that names it, waits for its
// acknowledgement, and calls Settle.
func (w *Writer) Write(ctx context.Context, digest, text string) error {
	name := Name{w.tenant, digest}
	if _, known := w.unsettled[name]; known {
		return nil
	}
	if err := w.bucket.put(ctx, name, w.key, text); err != nil {
		return err
	}
	w.unsettled[name] = text
	w.bytes += len(text)
	return nil
}

// Full reports whether the texts that wait for Settle take more than 32 MiB of memory.
func (w *Writer) Full() bool { return w.bytes > mostUnsettled }

// Settle makes sure that the bucket has the texts whose facts the stream has now. It may be repeated after
// an error.
func (w *Writer) Settle(ctx context.Context) error {
	for name, text := range w.unsettled {
		there, err := w.bucket.renew(ctx, name)
		if err == nil && !there {
			err = w.bucket.put(ctx, name, w.key, text)
		}
		if err != nil {
			return err
		}
		delete(w.unsettled, name)
		w.bytes -= len(text)
	}
	return nil
}
