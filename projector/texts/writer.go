package texts

import (
	"context"

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
