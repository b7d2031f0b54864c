package ledger

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// traced begins a span below that of ctx, by the same provider: a caller that
// traces sees the inserts, and one that does not pays nothing. The returned
// function ends it. Of an error it says only that there was one.
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
