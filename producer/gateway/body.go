package gateway

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ctxledger/ctxledger/schema"
)

const (
	// zstdWindow is the largest window of a zstd body: 8 MB, the limit of RFC 9659.
	zstdWindow = 8 << 20
	// bodyCost is the memory that a body takes with its events, as a multiple of its size.
	bodyCost = 3
)

// readBody reads and decompresses the body of a request.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, room *lease) ([]byte, *Problem) {
	most := h.config.MaxBody
	if r.ContentLength > int64(most) {
		return nil, bodyTooLarge(most)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.config.BodyTimeout)) // a recorder of a test has no deadline
	data, err := decompressed(r.Body, r.Header.Values("Content-Encoding"), room, most)
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		err = room.take((bodyCost - 1) * len(data))
	}
	var encoding *encodingError
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, errTooLarge):
		return nil, bodyTooLarge(most)
	case errors.Is(err, errNoRoom):
		return nil, busy("bodies of other requests take the memory of the server")
	case errors.As(err, &encoding):
		return nil, problem(http.StatusUnsupportedMediaType, "content_encoding", "the Content-Encoding is "+schema.Clip(encoding.name), "send gzip, zstd, or a body without encoding")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem(http.StatusRequestTimeout, "slow_body", fmt.Sprintf("the body did not arrive in %s", h.config.BodyTimeout), "send the request again, in smaller batches; nothing was stored")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, problem(http.StatusBadRequest, "half_body", "the body ended early", "send the request again; nothing was stored")
	}
	return nil, problem(http.StatusBadRequest, "body", "the body is not readable in its Content-Encoding", "compress the body again; nothing was stored")
}

func bodyTooLarge(most int) *Problem {
	return problem(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body has more than %d bytes after decompression", most), "send the events in several requests; nothing was stored")
}

// An encodingError names an encoding that the gateway does not read.
type encodingError struct{ name string }

func (e *encodingError) Error() string { return "content encoding " + e.name }

// decompressed reads a body in its encoding. Both the bytes of the body and the bytes that
// come out of it are limited to most.
func decompressed(body io.Reader, encodings []string, room *lease, most int) ([]byte, error) {
	body = &limitedReader{body, most}
	switch name := strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))); name {
	case "", "identity":
		return room.readAll(body, most)
	case "gzip", "x-gzip":
		in, err := gzip.NewReader(body)
		if err != nil {
			return nil, early(err)
		}
		return room.readAll(in, most)
	case "zstd":
		if err := room.take(zstdWindow); err != nil {
			return nil, err
		}
		in, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return room.readAll(in, most)
	default:
		return nil, &encodingError{name}
	}
}

// early returns io.ErrUnexpectedEOF for a compressed body that ends before its header does.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// limitedReader returns errTooLarge after n bytes.
type limitedReader struct {
	r io.Reader
	n int
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.n < 0 {
		return 0, errTooLarge
	}
	n, err := l.r.Read(p[:min(len(p), l.n+1)])
	if l.n -= n; l.n < 0 {
		return 0, errTooLarge
	}
	return n, err
}
