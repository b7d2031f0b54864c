package wire

import (
	"context"
	"errors"
	"sync"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/capture/otlp"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/schema"
)

// Telemetry records the model calls of OTLP bodies, for the default tenant and without text. Its
// recorder and its outbox are opened with the first body. Safe for concurrent use.
type Telemetry struct {
	ctx     context.Context
	app     *cli.App
	address func() (string, error)

	mu        sync.Mutex // guards the fields below
	recording *recording
	reporter  *otlp.Reporter
	closed    bool
}

// NewTelemetry returns a Telemetry for the stream whose address a function tells.
func NewTelemetry(ctx context.Context, a *cli.App, address func() (string, error)) *Telemetry {
	return &Telemetry{ctx: ctx, app: a, address: address}
}

// telemetrySlots are the folders of the recorders of telemetry: up and serve can run at once.
var telemetrySlots = []string{"telemetry", "telemetry-1", "telemetry-2", "telemetry-3"}

// Report implements [gateway.Telemetry].
func (t *Telemetry) Report(ctx context.Context, tenant string, logs, fromJSON bool, body []byte) (int, string, gateway.TelemetryOutcome) {
	reporter, err := t.open()
	if err != nil {
		t.app.Log().Warn("telemetry is not recorded", "error", err)
		return 0, "", gateway.TelemetryBusy
	}
	refused, message, err := reporter.Report(ctx, tenant, logs, fromJSON, body)
	switch {
	case errors.Is(err, otlp.ErrTenant):
		return 0, "", gateway.TelemetryForbidden
	case errors.Is(err, otlp.ErrBusy):
		return 0, "", gateway.TelemetryBusy
	case err != nil:
		return 0, "", gateway.TelemetryMalformed
	}
	return refused, message, gateway.TelemetryTaken
}

func (t *Telemetry) open() (*otlp.Reporter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, errors.New("the server ends")
	case t.reporter != nil:
		return t.reporter, nil
	}
	address, err := t.address()
	if err != nil {
		return nil, err
	}
	r, err := open(t.ctx, t.app, address, recordFlags{tenant: schema.DefaultTenant}, false, telemetrySlots)
	if err != nil {
		return nil, err
	}
	t.recording, t.reporter = r, otlp.NewReporter(r.Recorder, schema.DefaultTenant)
	return t.reporter, nil
}

// Close records what waits.
func (t *Telemetry) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed = true; t.recording != nil {
		t.recording.end(context.WithoutCancel(t.ctx))
	}
	t.recording, t.reporter = nil, nil
}
