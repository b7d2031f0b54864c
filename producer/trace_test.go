package producer

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// spanContext returns ctx with a span, as a tracing SDK does.
func spanContext(t *testing.T, ctx context.Context, state string, flags trace.TraceFlags) context.Context {
	t.Helper()
	parsed, err := trace.ParseTraceState(state)
	if err != nil {
		t.Fatal(err)
	}
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0x0a, 15: 0x01}, SpanID: trace.SpanID{0xb0, 7: 0x02}, TraceFlags: flags, TraceState: parsed,
	}))
}

func TestTraceOf(t *testing.T) {
	t.Parallel()
	const ids = "00-0a000000000000000000000000000001-b000000000000002-"
	for name, c := range map[string]struct {
		ctx           context.Context
		parent, state string
	}{
		"no span":              {t.Context(), "", ""},
		"an invalid span":      {trace.ContextWithSpanContext(t.Context(), trace.SpanContext{}), "", ""},
		"sampled":              {spanContext(t, t.Context(), "a=b,c=d", trace.FlagsSampled), ids + "01", "a=b,c=d"},
		"not sampled":          {spanContext(t, t.Context(), "", 0), ids + "00", ""},
		"flags of the future":  {spanContext(t, t.Context(), "", 0xff), ids + "03", ""},
		"a span within a span": {spanContext(t, spanContext(t, t.Context(), "a=b", 0), "", trace.FlagsSampled), ids + "01", ""},
	} {
		if parent, state := traceOf(c.ctx); parent != c.parent || state != c.state {
			t.Errorf("%s: %q %q", name, parent, state)
		}
	}
}

// TestTraceIsOnEachEvent records inside of spans and outside, and reads the stream.
func TestTraceIsOnEachEvent(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t))
	long := strings.Repeat("a", 100)
	var members []string
	for i := range 12 {
		members = append(members, long+string(rune('a'+i))+"="+long)
	}
	run := open(t, client, Run{Session: "s"})
	record := func(ctx context.Context, reason string) {
		if err := run.Record(ctx, &schema.ItemRemoved{ItemID: "i", Reason: reason}); err != nil {
			t.Error(err)
		}
	}
	record(spanContext(t, t.Context(), "v=1", trace.FlagsSampled), secretValue) // with its redaction
	record(spanContext(t, t.Context(), "v="+secretValue, 0), "")
	record(spanContext(t, t.Context(), strings.Join(members, ","), 0), "")
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	const ids = "00-0a000000000000000000000000000001-b000000000000002-"
	want := [][2]string{{"", ""}, {ids + "01", "v=1"}, {ids + "01", "v=1"}, {ids + "00", ""}, {ids + "00", ""}}
	events := b.Events(t)
	if len(events) != len(want) {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if got := [2]string{e.TraceParent, e.TraceState}; got != want[i] {
			t.Errorf("event %d (%s): %q", i, e.Type, got)
		}
		if _, violations := schema.Validate(e); len(violations) > 0 {
			t.Error(violations)
		}
	}
}
