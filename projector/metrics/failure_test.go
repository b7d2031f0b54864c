package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

func TestFailureOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&clickhouse.Exception{Code: 241, Message: "memory"}, "clickhouse 241"},
		{&clickhouse.Exception{Code: 243, Message: "space"}, "clickhouse 243 (no room left)"},
		{&clickhouse.Exception{Code: 10023, Message: "another server's code"}, "clickhouse 10023"},
		{&jetstream.APIError{Code: 503, ErrorCode: 10023}, "nats 10023 (no room left)"},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, "clickhouse"},
		{ledger.ErrUnreachable, "clickhouse"},
		{io.ErrUnexpectedEOF, "clickhouse"},
		{clickhouse.ErrAcquireConnTimeout, "clickhouse"},
		{nats.ErrTimeout, "nats"},
		{context.DeadlineExceeded, "nats"},
		{streamio.ErrUndelivered, "nats"},
		{jetstream.ErrNoHeartbeat, "nats"},
		{&jetstream.APIError{Code: 503, ErrorCode: 10008}, "nats 10008"},
		{&fs.PathError{Op: "open", Path: "keys", Err: fs.ErrPermission}, "other"},
	} {
		wrapped := fmt.Errorf("write: %w", c.err)
		if got := FailureOf(wrapped).String(); got != c.want {
			t.Errorf("%v is of %q, want %q", c.err, got, c.want)
		}
	}
	if got := LeaseFailure(&jetstream.APIError{ErrorCode: 10071}).String(); got != "lease 10071" {
		t.Errorf("a lease that is not got is of %q", got)
	}
}
