package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/metrics"
)

// checkStreamRoom compares the streams and the store of JetStream with their limits, and tries to
// write. monitor is the monitoring address of the server, or "".
func checkStreamRoom(ctx context.Context, js jetstream.JetStream, monitor string) []finding {
	list, account, err := storage.ReadStreams(ctx, js)
	if publish.PublishOnly(err) {
		return nil
	}
	f := finding{what: "nats room", state: storage.Size(account.Bytes) + " in all streams, and no limit is near", err: err}
	if err != nil {
		return []finding{f}
	}
	stores := []namedStore{{"the account of JetStream", account}}
	if monitor != "" {
		server, err := storage.ReadMonitor(ctx, monitor, account.Growth)
		if err != nil {
			f.err = err
			return []finding{f}
		}
		says, err := storage.ReadHealth(ctx, monitor)
		if err == nil && says != "" {
			err = fmt.Errorf("NATS says: %s; see CtxledgerStreamStoreFull in the runbook", says)
		}
		if err != nil {
			f.err = err
			return []finding{f}
		}
		stores = append(stores, namedStore{"the server (max_file_store)", *server})
	}
	for _, check := range []error{refusedWrite(lease.Probe(ctx, js)), scarceStore(stores), scarceStream(list)} {
		if f.err == nil {
			f.err = check
		}
	}
	return []finding{f}
}

// namedStore is a store with its name for a message.
type namedStore struct {
	name string
	storage.Store
}

// refusedWrite words the error of a write to the bucket of leases. A bucket that does not exist
// is another finding.
func refusedWrite(err error) error {
	switch {
	case err == nil, errors.Is(err, lease.ErrNoBucket):
		return nil
	case metrics.LeaseFailure(err).Full():
		return fmt.Errorf("JetStream has no room left and refuses events and leases (%w): free room on its disk or raise max_file_store; see CtxledgerStreamStoreFull in the runbook", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("a write to the bucket of leases has no answer (%w), as on a full disk of NATS: make room and restart NATS; see CtxledgerStreamStoreFull in the runbook", err)
	}
	return fmt.Errorf("write to the bucket of leases: %w", err)
}

func scarceStore(stores []namedStore) error {
	for _, s := range stores {
		if s.Scarce() {
			return fmt.Errorf("%s has %s of its limit of %s (full: %s), and refuses events at the limit: raise it; see CtxledgerStreamStoreFull in the runbook", s.name, storage.Size(s.Bytes), storage.Size(*s.Limit), s.Forecast)
		}
	}
	return nil
}

func scarceStream(list []storage.Stream) error {
	for _, s := range list {
		switch {
		case s.Scarce() && s.Tenant != "":
			return fmt.Errorf("%s %s of tenant %s has %s of its limit of %s (full: %s), and refuses events of this tenant at the limit: raise it with `ctxledger migrate --tenant %[3]s --max-bytes SIZE`; see CtxledgerStreamNearLimit in the runbook", s.Kind, s.Name, s.Tenant, storage.Size(s.Bytes), storage.Size(*s.Limit), s.Forecast)
		case s.Scarce():
			return fmt.Errorf("%s %s has %s of its limit of %s (full: %s), and refuses or deletes messages at the limit: raise or remove it; see CtxledgerStreamNearLimit in the runbook", s.Kind, s.Name, storage.Size(s.Bytes), storage.Size(*s.Limit), s.Forecast)
		}
	}
	return nil
}

// checkTableRoom looks at the disks of ClickHouse.
func checkTableRoom(ctx context.Context, l *ledger.Ledger) []finding {
	s, err := ledger.ReadStorage(ctx, l)
	if ledger.AccessDenied(err) {
		return nil
	}
	f := finding{what: "table room", err: err}
	for _, d := range storage.OfLedger(s).Disks {
		if f.state != "" {
			f.state += ", "
		}
		f.state += fmt.Sprintf("%s free on disk %s", storage.Size(d.Free), d.Name)
		if d.Scarce() && f.err == nil {
			f.err = fmt.Errorf("disk %s of ClickHouse has %s of %s left (full: %s), and refuses rows when it is full: free room or give the volume more; see CtxledgerTablesDiskFull in the runbook", d.Name, storage.Size(d.Free), storage.Size(d.Total), d.Forecast)
		}
	}
	return []finding{f}
}

// checkDataRoom looks at the disk of the data folder, where both servers of `up` write.
func checkDataRoom(a *cli.App) []finding {
	if a.NamesNATS() || a.Flags.ClickHouse != "" {
		return nil
	}
	disk, err := storage.DiskOf(a.Flags.Data)
	f := finding{what: "data room", state: storage.Size(disk.Free) + " free", err: err}
	if err == nil && disk.Scarce() {
		f.err = fmt.Errorf("the disk of %s has %s of %s left: free room, because NATS and ClickHouse refuse events when it is full", a.Flags.Data, storage.Size(disk.Free), storage.Size(disk.Total))
	}
	return []finding{f}
}
