package producer

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/schema"
)

// traceVersion is that of W3C Trace Context, which traceparent begins with.
const traceVersion = "00"

// traceOf returns the traceparent and tracestate of the span that ctx carries,
// both empty where it carries none. The flags are those that the version
// defines.
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

// trace is what events recorded with ctx carry. A tracestate is the tracing
// system's own and may be left out: it is where it holds a withheld value, or
// is longer than the contract takes an attribute to be.
func (c *Client) trace(ctx context.Context) (parent, state string) {
	parent, state = traceOf(ctx)
	if len(state) > schema.MaxIDBytes || len(c.guard().Check(state)) > 0 {
		state = ""
	}
	return parent, state
}
