package publish

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/schema"
)

// MaxDocument is the size limit of one event in the JSON format, in bytes. It leaves room for
// the attributes and for escapes around data of the default limit.
const MaxDocument = 8 * schema.MaxEventBytes

// MaxAhead is the time by which an event may be ahead of this machine's clock.
const MaxAhead = time.Hour

// maxHeaderBytes is the size limit of a message's headers. JetStream refuses headers of more
// than 65,535 bytes; a batch and a random message id need some of them.
const maxHeaderBytes = 65_535 - 512

// DocumentTooLarge returns the violation of a document above [MaxDocument].
func DocumentTooLarge() *schema.Violation {
	return &schema.Violation{Code: schema.CodeTooLarge, Found: fmt.Sprintf("an event of more than %d bytes", MaxDocument), Fix: "refer to content instead of holding it"}
}

// ReadDocument reads one event in the JSON format. The event is nil or incomplete if there is
// a violation. The event's data aliases the document.
func ReadDocument(document []byte) (*schema.Event, schema.Violations) {
	if len(document) > MaxDocument {
		return nil, schema.Violations{DocumentTooLarge()}
	}
	e, err := schema.ParseStructured(document)
	return e, ViolationsOf(err)
}

// CheckIncoming checks an event as every door of ctxledger for foreign events does, and returns its
// message. CheckIncoming adds two rules to those of [schema.Validate]: the event's time is at most
// [MaxAhead] after now, and the message's headers fit into JetStream's limit. Without a
// violation, the stream accepts the event.
func CheckIncoming(e *schema.Event, now time.Time) (schema.Message, schema.Violations) {
	_, found := schema.Validate(e)
	if ahead := e.Time.Sub(now); ahead > MaxAhead {
		found = append(found, &schema.Violation{
			Code: schema.CodeRange, Pointer: "/time", Found: "a time " + ahead.Round(time.Second).String() + " ahead of the clock here",
			Fix: "send the time at which the fact happened; check the clock and the time zone of the sender",
		})
	}
	if len(found) > 0 {
		return schema.Message{}, found
	}
	m := e.Binary()
	if size := messageBytes(&nats.Msg{Header: m.Header}); size > maxHeaderBytes {
		return m, schema.Violations{{
			Code: schema.CodeTooLarge, Found: fmt.Sprintf("attributes of %d bytes", size),
			Fix: fmt.Sprintf("keep the attributes of an event within %d bytes together", maxHeaderBytes),
		}}
	}
	return m, nil
}

// ViolationsOf returns the violations of the contract in err, or nil for an error of another
// kind.
func ViolationsOf(err error) schema.Violations {
	var many schema.Violations
	var one *schema.Violation
	switch {
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return schema.Violations{one}
	}
	return nil
}
