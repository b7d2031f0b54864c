package projector

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/metrics"
)

// maxLinks is the highest number of links from a batch's span to the traces of its events.
const maxLinks = 64

var noTracer = noop.NewTracerProvider().Tracer("")

// A stage is work on a batch that precedes the start of its span. The span starts late because
// its links come from the events.
type stage struct {
	name         string
	began, ended time.Time
}

// traced begins the span of a batch, at the time of its first stage, with the stages below it.
// The returned function ends the span.
func (s *shared) traced(ctx context.Context, b batch) (context.Context, func(error)) {
	s.pulse.open.Add(1)
	ctx, span := s.batchSpan(ctx, b)
	return ctx, func(err error) {
		s.pulse.open.Add(-1)
		endSpan(span, err)
	}
}

// batchSpan links to the sampled spans in which the events were recorded. batchSpan makes one
// link for each trace, and at most maxLinks.
func (s *shared) batchSpan(ctx context.Context, b batch) (context.Context, trace.Span) {
	began := time.Now()
	if len(b.stages) > 0 {
		began = b.stages[0].began
	}
	for _, done := range b.stages {
		s.meter().Step(done.name, done.ended.Sub(done.began))
	}
	if s.config.Tracer == nil {
		return noTracer.Start(ctx, "")
	}
	ctx, span := s.config.Tracer.Start(ctx, "project batch", trace.WithTimestamp(began), trace.WithLinks(b.links...),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("messaging.system", "nats"),
			attribute.String("messaging.destination.name", s.config.Stream),
			attribute.Int("messaging.batch.message_count", int(b.Messages)),
			attribute.Int64("ctxledger.first", int64(b.First)),
			attribute.Int64("ctxledger.last", int64(b.Last)),
		))
	for _, done := range b.stages {
		_, below := s.config.Tracer.Start(ctx, done.name, trace.WithTimestamp(done.began))
		below.End(trace.WithTimestamp(done.ended))
	}
	return ctx, span
}

// take runs a step, unless the lease is lost. If the context ends for another reason, the batch
// is still written to its end. The error names the failed step.
func (s *shared) take(ctx context.Context, next steps.Step) error {
	if err := context.Cause(ctx); errors.Is(err, lease.ErrLost) {
		return err
	}
	ctx, done := s.step(ctx, next.Verb)
	err := next.Do(ctx)
	done(err)
	if err != nil {
		return &steps.Error{Verb: next.Verb, Err: err}
	}
	return nil
}

// step measures a step of a batch and makes a span for it. The returned function ends both.
func (s *shared) step(ctx context.Context, name string) (context.Context, func(error)) {
	tracer := s.config.Tracer
	if tracer == nil {
		tracer = noTracer
	}
	ctx, span := tracer.Start(ctx, name)
	s.pulse.beat()
	began := time.Now()
	return ctx, func(err error) {
		s.meter().Step(name, time.Since(began))
		s.pulse.beat()
		endSpan(span, err)
	}
}

// endSpan ends a span. For an error it records only the server that failed and the code.
func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, metrics.FailureOf(err).String())
	}
	span.End()
}

// linksOf adds links to the sampled spans in which messages were recorded.
func linksOf(links []trace.Link, messages []decode.Event) []trace.Link {
	seen := make(map[trace.TraceID]bool)
	for _, l := range links {
		seen[l.SpanContext.TraceID()] = true
	}
	for _, e := range messages {
		if len(links) == maxLinks {
			break
		}
		if len(e.Violations) > 0 || e.Envelope.TraceParent == "" {
			continue
		}
		span, ok := parseTraceParent(e.Envelope.TraceParent)
		if ok && span.IsSampled() && !seen[span.TraceID()] {
			seen[span.TraceID()] = true
			links = append(links, trace.Link{SpanContext: span})
		}
	}
	return links
}

// parseTraceParent reads version 00 of W3C Trace Context's traceparent:
// version, trace id, span id and flags, in lower-case hex with dashes between.
func parseTraceParent(s string) (trace.SpanContext, bool) {
	const length, sampled = 55, 1
	if len(s) != length || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return trace.SpanContext{}, false
	}
	traceID, traceErr := trace.TraceIDFromHex(s[3:35])
	spanID, spanErr := trace.SpanIDFromHex(s[36:52])
	flags, flagsErr := hex.DecodeString(s[53:])
	if traceErr != nil || spanErr != nil || flagsErr != nil || s != strings.ToLower(s) {
		return trace.SpanContext{}, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags[0]) & sampled, Remote: true,
	}), true
}
