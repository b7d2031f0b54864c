package ledger

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// traced begins a span below the span of ctx, by the same provider. Callers without tracing pay
// nothing. The returned function ends it. The span records the fact of an error, and not its
// text.
func traced(ctx context.Context, name string) (context.Context, func(error)) {
	const scope = "github.com/ctxledger/ctxledger/ledger"
	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
