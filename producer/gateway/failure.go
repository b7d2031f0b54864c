package gateway

import (
	"errors"
	"net/http"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/schema"
)

// failure is the reason why a valid event is not known to be in the stream.
type failure struct {
	outcome   Outcome           // NotStored or Unconfirmed
	violation *schema.Violation // the fault is the event's own
	tryEach   bool              // one message of the batch may have caused it
	status    int
	code      string
	detail    string
	fix       string
}

func (f *failure) problem() *Problem { return problem(f.status, f.code, f.detail, f.fix) }

// skipped is the failure of the messages after the one that failed.
func (f *failure) skipped() *failure {
	after := *f
	after.outcome = NotStored
	return &after
}

// Codes of JetStream that its client does not name.
const (
	codeInsufficientResources jetstream.ErrorCode = 10023
	codeStorageExceeded       jetstream.ErrorCode = 10047
	codeStoreFailed           jetstream.ErrorCode = 10077
	codeHeaderTooLarge        jetstream.ErrorCode = 10097
)

const again = "send the request again; an event that is stored twice counts once"

func unavailable(why string) *failure {
	return &failure{outcome: NotStored, status: http.StatusServiceUnavailable, code: "unavailable", detail: why, fix: again}
}

func overloaded() *failure {
	return &failure{outcome: NotStored, status: http.StatusTooManyRequests, code: "busy", detail: "the stream has too many batches under way", fix: "send the request again after Retry-After seconds"}
}

// failureOf translates an error of a publish. An answer of the server proves that nothing was
// stored. Without an answer nothing is known.
func failureOf(err error) *failure {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstreamext.ErrAtomicPublishTooManyInflight), errors.Is(err, jetstreamext.ErrBatchPublishTooManyInflight):
		return overloaded()
	case errors.Is(err, jetstreamext.ErrBatchPublishNotEnabled):
		return &failure{
			outcome: NotStored, tryEach: true, status: http.StatusNotImplemented, code: "no_batches", detail: "the stream accepts no atomic batches",
			fix: "send the request without ?all, or run `ctxledger migrate`",
		}
	case errors.Is(err, jetstreamext.ErrBatchPublishIncomplete):
		f := unavailable("the server did not take every event of the batch")
		f.tryEach, f.code, f.fix = true, "incomplete", "send the request without ?all to learn which event the server refuses"
		return f
	case errors.Is(err, nats.ErrMaxPayload):
		return tooLarge()
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return &failure{
			outcome: NotStored, status: http.StatusServiceUnavailable, code: "no_stream", detail: "no stream takes the events",
			fix: "run `ctxledger migrate`, with --tenant if other tenants have streams, then send the request again",
		}
	case errors.As(err, &api):
		switch api.ErrorCode {
		case jetstream.JSErrCodeStreamMessageExceedsMaximum, codeHeaderTooLarge:
			return tooLarge()
		case codeInsufficientResources, codeStorageExceeded, codeStoreFailed:
			return &failure{
				outcome: NotStored, tryEach: true, status: http.StatusInsufficientStorage, code: "full", detail: "the stream is full: " + schema.Clip(api.Description),
				fix: "raise the limit of the stream, then send the request again",
			}
		}
		f := unavailable("the stream refused the events: " + schema.Clip(api.Description))
		f.tryEach = true
		return f
	}
	return &failure{
		outcome: Unconfirmed, status: http.StatusServiceUnavailable, code: "unconfirmed", detail: "the stream did not confirm the events in time", fix: again,
	}
}

func tooLarge() *failure {
	f := unavailable("an event is larger than the server accepts")
	f.tryEach = true
	f.violation = &schema.Violation{Code: schema.CodeTooLarge, Found: "a message above the limit of the NATS server", Fix: "refer to content instead of holding it"}
	return f
}
