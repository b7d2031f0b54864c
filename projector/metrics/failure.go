package metrics

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// A Failure names the failed part: clickhouse, nats, lease or other. The code is the server's.
// The code is empty if no server answered.
type Failure struct{ Who, Code string }

func (f Failure) String() string {
	switch {
	case f.Code == "":
		return f.Who
	case f.Full():
		return f.Who + " " + f.Code + " (no room left)"
	}
	return f.Who + " " + f.Code
}

// FailureOf returns the failed part for an error.
func FailureOf(err error) Failure {
	if code, ok := ledger.Failure(err); ok {
		return Failure{"clickhouse", codeText(int(code))}
	}
	var refused jetstream.JetStreamError
	if errors.As(err, &refused) {
		if said := refused.APIError(); said != nil {
			return Failure{"nats", codeText(int(said.ErrorCode))}
		}
		return Failure{"nats", ""}
	}
	if slices.ContainsFunc(natsFailures, func(kind error) bool { return errors.Is(err, kind) }) {
		return Failure{"nats", ""}
	}
	return Failure{"other", ""}
}

// LeaseFailure returns a failure to get or to keep the lease.
func LeaseFailure(err error) Failure {
	return Failure{"lease", FailureOf(err).Code}
}

// natsFailures are the errors of the NATS client. A request without an answer ends with its
// deadline.
var natsFailures = []error{
	streamio.ErrUndelivered, context.DeadlineExceeded,
	nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting,
	nats.ErrStaleConnection, nats.ErrReconnectBufExceeded, nats.ErrNoServers, nats.ErrSlowConsumer,
	nats.ErrMaxPayload, nats.ErrPermissionViolation, nats.ErrAuthorization,
}

func codeText(code int) string {
	if code == 0 {
		return ""
	}
	return strconv.Itoa(code)
}
