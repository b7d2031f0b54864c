package producer

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

// events returns the checked event of a fact, without its sequence. The events of the
// guard's redactions in the fact come first.
func (c *Client) events(ctx context.Context, fact schema.Fact, ids schema.Correlation) ([]*schema.Event, error) {
	e, hits, err := c.event(ctx, fact, ids)
	if err != nil {
		return nil, err
	}
	var events []*schema.Event
	for _, redaction := range redactions(c.Source(), fact, hits) {
		r, _, err := c.event(ctx, redaction, ids)
		if err != nil {
			return nil, fmt.Errorf("record the redaction: %w", err)
		}
		events = append(events, r)
	}
	return append(events, e), nil
}

func (c *Client) event(ctx context.Context, fact schema.Fact, ids schema.Correlation) (*schema.Event, []redact.Hit, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("make an event id: %w", err)
	}
	e := &schema.Event{ID: id.String(), Source: c.source, Time: c.config.Clock().UTC(), Correlation: ids, PartitionKey: ids.SessionID}
	e.TraceParent, e.TraceState = c.trace(ctx)
	violations, err := e.Encode(fact)
	if err != nil {
		return nil, nil, c.withheld.hideError(err)
	}
	hits, violations, err := c.withheld.hide(ctx, e, violations)
	if err != nil {
		return nil, nil, err
	}
	if len(violations) > 0 {
		return nil, nil, violations
	}
	return e, hits, nil
}

// traceVersion is the version of W3C Trace Context at the start of traceparent.
const traceVersion = "00"

// traceOf returns the traceparent and tracestate of the span in ctx. Both are empty if ctx
// has no span. The flags are the flags that the version defines.
//
// Source: W3C Trace Context; CloudEvents' Distributed Tracing extension.
func traceOf(ctx context.Context) (parent, state string) {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return "", ""
	}
	flags := span.TraceFlags() & (trace.FlagsSampled | trace.FlagsRandom)
	return traceVersion + "-" + span.TraceID().String() + "-" + span.SpanID().String() + "-" + flags.String(), span.TraceState().String()
}

// trace returns the trace of events that are recorded with ctx. A tracestate belongs to the
// tracing system and is optional. The tracestate is omitted if it holds a withheld value or
// is longer than the contract allows for an attribute.
func (c *Client) trace(ctx context.Context) (parent, state string) {
	parent, state = traceOf(ctx)
	if len(state) > schema.MaxIDBytes || len(c.withheld.guard().Check(state)) > 0 {
		state = ""
	}
	return parent, state
}

// Prepare returns the checked events of a fact by the client's guard for a program that gives events ids, times and
// sequences of its own, such as package capture. Withheld values are masked, and the redactions
// of the fact come first. Prepare queues nothing. Its errors are those of [Client.Record] that
// do not concern the queue.
func Prepare(ctx context.Context, c *Client, fact schema.Fact, ids schema.Correlation) ([]*schema.Event, error) {
	if fact == nil {
		return nil, invalid("fact", "must not be nil")
	}
	events, err := c.events(ctx, fact, ids)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", fact.EventType(), err)
	}
	return events, nil
}

// Withholds reports whether a text has a value that the client withholds, or one that its detector finds.
// Such a text must not be stored beside its fact. The client withholds a found value from then on. The
// error is a [*WorkError] of the detector.
func Withholds(ctx context.Context, c *Client, text string) (bool, error) {
	guard := c.withheld.guard()
	if len(guard.Check(text)) > 0 {
		return true, nil
	}
	found, err := c.withheld.detectIn(ctx, text)
	c.withheld.add(guard, found)
	return len(found) > 0, err
}
