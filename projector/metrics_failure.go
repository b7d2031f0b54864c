package projector

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

// A failure says who failed: clickhouse, nats, lease or other. The code is the
// server's, and empty where no server answered.
type failure struct{ who, code string }

func (f failure) String() string {
	if f.code == "" {
		return f.who
	}
	return f.who + " " + f.code
}

func failureOf(err error) failure {
	if code, ok := ledger.Failure(err); ok {
		return failure{"clickhouse", codeText(int(code))}
	}
	var refused jetstream.JetStreamError
	if errors.As(err, &refused) {
		if said := refused.APIError(); said != nil {
			return failure{"nats", codeText(int(said.ErrorCode))}
		}
		return failure{"nats", ""}
	}
	if slices.ContainsFunc(natsFailures, func(kind error) bool { return errors.Is(err, kind) }) {
		return failure{"nats", ""}
	}
	return failure{"other", ""}
}

// leaseFailure is a failure to keep or to get the lease.
func leaseFailure(err error) failure { return failure{"lease", failureOf(err).code} }

// natsFailures are the client's own errors. A request that nobody answers ends
// with its deadline.
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
