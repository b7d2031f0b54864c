package projector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
)

type (
	noopTracer   = embedded.Tracer
	noopProvider = embedded.TracerProvider
)

// A recorder is a tracer that keeps its spans, in place of an SDK.
type recorder struct {
	noopTracer
	noopProvider
	mu    sync.Mutex
	spans []*recorded
}

type recorded struct {
	noop.Span
	of     *recorder
	name   string
	parent *recorded
	config trace.SpanConfig
	id     trace.SpanContext
	ended  bool
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return r }

func (r *recorder) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &recorded{of: r, name: name, config: trace.NewSpanStartConfig(options...)}
	s.parent, _ = trace.SpanFromContext(ctx).(*recorded)
	s.id = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(len(r.spans) + 1)}, TraceFlags: trace.FlagsSampled})
	r.spans = append(r.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *recorded) End(...trace.SpanEndOption)           { s.ended = true }
func (s *recorded) SpanContext() trace.SpanContext       { return s.id }
func (s *recorded) TracerProvider() trace.TracerProvider { return s.of }

func TestSpansOfABatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id, parent := range []string{
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01", // the same trace
		"00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", // not sampled
		"",
	} {
		e := projectortest.Event(id, 0)
		e.TraceParent = parent
		f.publish(e.Binary())
	}
	p := f.projector()
	spans := &recorder{}
	p.config.Tracer = spans
	f.must(f.run(p))

	var children []string
	var batch *recorded
	for _, s := range spans.spans {
		if !s.ended {
			t.Errorf("span %q has not ended", s.name)
		}
		switch {
		case s.parent == nil:
			batch = s
		case s.parent.parent == nil:
			children = append(children, s.name)
		default:
			children = append(children, s.parent.name+"/"+s.name)
		}
	}
	slices.Sort(children)
	want := []string{
		"build", "commit", "commit/insert into commits", "decode", "delete reintroduced values", "fetch", "journal",
		"look at the checkpoint", "look at the checkpoint", "look up identities",
		"publish to quarantine", "write", "write/insert into events", "write/insert into log_hashes", "write/insert into log_items",
	}
	if batch == nil || batch.name != "project batch" || !slices.Equal(children, want) {
		t.Fatalf("the spans of %+v are %q, want %q", batch, children, want)
	}
	links := batch.config.Links()
	if len(links) != 1 || links[0].SpanContext.SpanID().String() != "00f067aa0ba902b7" || !links[0].SpanContext.IsRemote() {
		t.Errorf("the batch links to %v", links)
	}
}

func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	var messages []decode.Event
	for i := range 3 * maxLinks {
		e := projectortest.Event(i, 0)
		e.TraceParent = fmt.Sprintf("00-%032x-00f067aa0ba902b7-01", i+1)
		messages = append(messages, decode.One(projectortest.At(uint64(i+1), e.Binary())))
	}
	if n := len(linksOf(nil, messages)); n != maxLinks {
		t.Errorf("%d links", n)
	}
}

func FuzzTraceParent(f *testing.F) {
	for _, s := range []string{
		"", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-00", "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		span, ok := parseTraceParent(s)
		if !ok {
			return
		}
		if again := "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-"; !span.IsValid() || again != s[:len(again)] || span.IsSampled() != (s[54]%2 == 1 && s[54] <= '9' || s[54] == 'b' || s[54] == 'd' || s[54] == 'f') {
			t.Errorf("%q reads as %v %v %v", s, span.TraceID(), span.SpanID(), span.TraceFlags())
		}
	})
}
