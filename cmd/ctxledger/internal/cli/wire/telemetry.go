package wire

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/capture/otlp"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/schema"
)

// Telemetry records the model calls of OTLP bodies without text. Each tenant has a recorder and an
// outbox of its own, which are opened with the tenant's first body. Safe for concurrent use.
type Telemetry struct {
	ctx     context.Context
	app     *cli.App
	address func() (string, error)

	mu      sync.Mutex // guards the fields below
	tenants map[string]tenantTelemetry
	closed  bool
}

// tenantTelemetry is the recorder of one tenant.
type tenantTelemetry struct {
	recording *recording
	reporter  *otlp.Reporter
}

// NewTelemetry returns a Telemetry for the stream whose address a function tells.
func NewTelemetry(ctx context.Context, a *cli.App, address func() (string, error)) *Telemetry {
	return &Telemetry{ctx: ctx, app: a, address: address, tenants: make(map[string]tenantTelemetry)}
}

// telemetrySlots returns the folders of a tenant's recorders of telemetry: up and serve can run at
// once. No two tenants have a folder in common, because an escaped name has no "#" and no separator.
func telemetrySlots(tenant string) []string {
	folder, separator := "telemetry", "-"
	if tenant != schema.DefaultTenant {
		folder, separator = folder+"."+url.PathEscape(tenant), "#"
	}
	slots := []string{folder}
	for _, n := range []string{"1", "2", "3"} {
		slots = append(slots, folder+separator+n)
	}
	return slots
}

// Report implements [gateway.Telemetry].
func (t *Telemetry) Report(ctx context.Context, tenant string, logs, fromJSON bool, body []byte) (int, string, gateway.TelemetryOutcome) {
	reporter, err := t.open(schema.TenantOf(tenant))
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

func (t *Telemetry) open(tenant string) (*otlp.Reporter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("the server ends")
	}
	if own, ok := t.tenants[tenant]; ok {
		return own.reporter, nil
	}
	address, err := t.address()
	if err != nil {
		return nil, err
	}
	r, err := open(t.ctx, t.app, address, recordFlags{tenant: tenant}, false, telemetrySlots(tenant))
	if err != nil {
		return nil, err
	}
	own := tenantTelemetry{r, otlp.NewReporter(r.Recorder, tenant)}
	t.tenants[tenant] = own
	return own.reporter, nil
}

// Close records what waits.
func (t *Telemetry) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	var ends sync.WaitGroup
	for _, own := range t.tenants {
		ends.Go(func() { own.recording.end(context.WithoutCancel(t.ctx)) })
	}
	ends.Wait()
	clear(t.tenants)
}
