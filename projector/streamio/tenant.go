package streamio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrTenant is wrapped by every refusal of [EnsureTenant]. Nothing was changed.
var ErrTenant = errors.New("tenant_streams_refused")

// TenantLayout says how the streams of one tenant lie on the servers. A zero member keeps what is there.
type TenantLayout struct {
	Tenant string
	// Partitions is the number of streams of the tenant's own. 0 makes none: the tenant then shares the
	// streams, which take its events from then on.
	Partitions schema.Partitions
	// MaxBytes is the size of all streams of the tenant together, on one server. Each has an equal share.
	// A full one refuses messages. The server reserves the bytes.
	MaxBytes int64
	// Known are tenants with events. Those without streams of their own keep the shared ones.
	Known []string
}

// leastBytes is the smallest share of a stream: some batches of a producer.
const leastBytes = 16 << 20

// sharedKey is metadata of a tenant's stream that is not open yet: the tenants that share the other
// streams from the opening on, as subject filters.
const sharedKey = "ctxledger_shared_tenants"

// closedSubject is the subject of a stream that is not open yet. Nobody publishes on it.
func closedSubject(stream string) string { return "ctx.closed." + stream }

func isClosed(c jetstream.StreamConfig) bool {
	return slices.Equal(c.Subjects, []string{closedSubject(c.Name)})
}

// EnsureTenant creates the streams of a tenant's own, or changes their size. It returns what it did.
// The events of the tenant so far stay in the shared streams. EnsureTenant takes these steps:
//
//	close   create the streams of the tenant without the subjects of events
//	leave   take the subjects of the tenant from the shared streams
//	open    give the tenant's streams its subjects
//
// Between leave and open no stream takes the tenant's events, and its publishers keep them. Another call
// or [Ensure] finishes the steps after an interruption. An error before leave changes nothing.
//
// Errors: [ErrTenant] with the reason, [ErrPartitions] if the tenant's streams have another number.
func EnsureTenant(ctx context.Context, js jetstream.JetStream, want TenantLayout) ([]string, error) {
	if err := schema.CheckStreamTenant(want.Tenant); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTenant, err)
	}
	l, err := readLayout(ctx, js)
	if err != nil {
		return nil, err
	}
	e := ensure{js: js}
	if e.replicas, err = e.replicasOf(ctx, l.partitions[""].Stream(0).Name); err != nil {
		return nil, err
	}
	n, own := l.partitions[want.Tenant]
	switch {
	case own && want.Partitions > 0 && want.Partitions != n:
		return nil, fmt.Errorf("%w: the events of tenant %s are in %d, not in %d", ErrPartitions, want.Tenant, n, want.Partitions)
	case own:
		if err := e.completeTenant(ctx, l, want.Tenant); err != nil {
			return e.done, err
		}
		return e.done, e.resize(ctx, l, want)
	case want.Partitions == 0 && want.MaxBytes > 0:
		return nil, fmt.Errorf("%w: tenant %s has no streams of its own, whose size could be limited", ErrTenant, want.Tenant)
	case want.Partitions == 0:
		return e.done, e.admit(ctx, l, want.Tenant)
	}
	if err := want.Partitions.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTenant, err)
	}
	if err := e.closeNew(ctx, l, want); err != nil {
		return nil, err
	}
	if l, err = readLayout(ctx, js); err != nil {
		return e.done, err
	}
	if err := e.completeTenant(ctx, l, want.Tenant); err != nil {
		return e.done, err
	}
	return e.done, fenceOff(ctx, js)
}

// share returns the size of each stream.
func (t TenantLayout) share(n schema.Partitions) (int64, error) {
	share := t.MaxBytes / int64(n)
	if t.MaxBytes > 0 && share < leastBytes {
		return 0, fmt.Errorf("%w: %d bytes in %d streams of tenant %s: want at least %d bytes for each", ErrTenant, t.MaxBytes, n, t.Tenant, leastBytes)
	}
	return share, nil
}

// admit lets the shared streams take the events of a tenant.
func (e *ensure) admit(ctx context.Context, l layout, tenant string) error {
	tenants, all := l.shared()
	if all || slices.Contains(tenants, tenant) {
		return nil
	}
	if err := e.share(ctx, l, append(tenants, tenant)); err != nil {
		return err
	}
	e.done = append(e.done, fmt.Sprintf("the shared streams take the events of tenant %s", tenant))
	return nil
}

// share gives the shared streams the subjects of tenants.
func (e *ensure) share(ctx context.Context, l layout, tenants []string) error {
	n := l.partitions[""]
	for i, s := range n.EventStreams() {
		info := l.found[s.Name]
		if info == nil {
			return fmt.Errorf("%s, one of %d: %w", s.Name, n, ErrNoStream)
		}
		c := info.Config
		subjects := subjectsOf(n, i, tenants)
		if slices.Equal(slices.Sorted(slices.Values(c.Subjects)), slices.Sorted(slices.Values(subjects))) {
			continue
		}
		c.Subjects = subjects
		if _, err := e.js.UpdateStream(ctx, c); err != nil {
			return fmt.Errorf("change the subjects of stream %s: %w", s.Name, err)
		}
	}
	return nil
}

// subjectsOf returns the subjects of a shared stream, which may have no tenants.
func subjectsOf(n schema.Partitions, partition int, tenants []string) []string {
	if len(tenants) == 0 {
		return []string{closedSubject(n.StreamName("", partition))}
	}
	return n.SubjectsOf(partition, tenants...)
}

// closeNew creates the streams of a tenant, not yet open. After an error none of them is left.
func (e *ensure) closeNew(ctx context.Context, l layout, want TenantLayout) (err error) {
	share, err := want.share(want.Partitions)
	if err != nil {
		return err
	}
	rest, err := e.sharing(ctx, l, want)
	if err != nil {
		return err
	}
	var made []string
	defer func() {
		if err == nil {
			return
		}
		for _, name := range made {
			err = errors.Join(err, e.js.DeleteStream(context.WithoutCancel(ctx), name))
		}
	}()
	for _, s := range want.Partitions.EventStreamsOf(want.Tenant) {
		c := withOrigin(streamConfig(s))
		c.Metadata[sharedKey] = strings.Join(schema.Partitions(1).SubjectsOf(0, rest...), " ")
		c.Subjects, c.Replicas = []string{closedSubject(s.Name)}, e.replicas
		if share > 0 {
			c.MaxBytes = share
		}
		if _, err := e.js.CreateStream(ctx, c); err != nil {
			return fmt.Errorf("create stream %s: %w", s.Name, refusedBytes(refusedReplicas(err, e.replicas), want))
		}
		made = append(made, s.Name)
	}
	return nil
}

// refusedBytes names the limit that the servers cannot reserve.
func refusedBytes(err error, want TenantLayout) error {
	const codeStorage, codeMaxBytes jetstream.ErrorCode = 10047, 10113
	var api *jetstream.APIError
	if errors.As(err, &api) && want.MaxBytes > 0 && (api.ErrorCode == codeStorage || api.ErrorCode == codeResources || api.ErrorCode == codeMaxBytes) {
		return fmt.Errorf("%w: the servers cannot reserve %d bytes for tenant %s: want less, or raise max_file_store (%w)", ErrTenant, want.MaxBytes, want.Tenant, err)
	}
	return err
}

// sharing returns the tenants that share the streams without one tenant. A shared stream that took the
// events of all knows those that have messages in it.
func (e *ensure) sharing(ctx context.Context, l layout, want TenantLayout) ([]string, error) {
	tenants, all := l.shared()
	if all {
		tenants = append(slices.Clone(want.Known), schema.DefaultTenant)
		for _, s := range l.partitions[""].EventStreams() {
			found, err := e.tenantsIn(ctx, s.Name)
			if err != nil {
				return nil, err
			}
			tenants = append(tenants, found...)
		}
	}
	tenants = slices.DeleteFunc(tenants, func(tenant string) bool {
		_, own := l.partitions[tenant]
		return own || tenant == want.Tenant || tenant == ""
	})
	slices.Sort(tenants)
	return slices.Compact(tenants), nil
}

// tenantsIn returns the tenants with messages in a stream. It reads the list of all subjects.
func (e *ensure) tenantsIn(ctx context.Context, name string) ([]string, error) {
	stream, err := e.js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", name, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(schema.AllSubjects))
	if err != nil {
		return nil, fmt.Errorf("list the subjects of stream %s: %w", name, err)
	}
	found := make(map[string]bool)
	for subject := range info.State.Subjects {
		found[schema.SubjectTenant(subject)] = true
	}
	return slices.Collect(maps.Keys(found)), nil
}

// completeTenant creates streams of a tenant that are missing, and finishes the steps of [EnsureTenant]
// where its streams are not open yet.
func (e *ensure) completeTenant(ctx context.Context, l layout, tenant string) error {
	n := l.partitions[tenant]
	closed := false
	shared := ""
	for _, s := range n.EventStreamsOf(tenant) {
		if info := l.found[s.Name]; info != nil && isClosed(info.Config) {
			closed, shared = true, info.Config.Metadata[sharedKey]
		}
	}
	if closed {
		if err := e.leave(ctx, l, tenant, shared); err != nil {
			return err
		}
	}
	for i, s := range n.EventStreamsOf(tenant) {
		info := l.found[s.Name]
		switch {
		case info == nil || !isClosed(info.Config):
			if err := e.stream(ctx, withOrigin(streamConfig(s))); err != nil {
				return err
			}
		default:
			c := info.Config
			c.Subjects, c.Metadata = n.SubjectsOf(i, tenant), maps.Clone(c.Metadata)
			c.Replicas = max(c.Replicas, e.replicas)
			delete(c.Metadata, sharedKey)
			if _, err := e.js.UpdateStream(ctx, c); err != nil {
				return fmt.Errorf("open stream %s: %w", s.Name, err)
			}
			e.done = append(e.done, fmt.Sprintf("created stream %s of tenant %s%s", s.Name, tenant, limitText(c.MaxBytes)))
		}
	}
	return nil
}

func limitText(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf(" with %d bytes", bytes)
}

// leave takes the subjects of a tenant from the shared streams. known are subjects of other tenants.
func (e *ensure) leave(ctx context.Context, l layout, tenant, known string) error {
	want := TenantLayout{Tenant: tenant}
	for subject := range strings.FieldsSeq(known) {
		want.Known = append(want.Known, schema.SubjectTenant(subject))
	}
	rest, err := e.sharing(ctx, l, want)
	if err != nil {
		return err
	}
	_, all := l.shared()
	if err := e.share(ctx, l, rest); err != nil {
		return err
	}
	for _, s := range l.partitions[""].EventStreams() {
		if err := e.drain(ctx, s.Name); err != nil {
			return err
		}
	}
	if all {
		e.done = append(e.done, "the shared streams now take the events of these tenants only: "+strings.Join(rest, ", "))
	}
	return nil
}

// resize changes the size of the streams of a tenant.
func (e *ensure) resize(ctx context.Context, l layout, want TenantLayout) error {
	if want.MaxBytes == 0 {
		return nil
	}
	n := l.partitions[want.Tenant]
	share, err := want.share(n)
	if err != nil {
		return err
	}
	list := n.EventStreamsOf(want.Tenant)
	for _, s := range list {
		if info := l.found[s.Name]; info != nil && info.State.Bytes > uint64(share) {
			return fmt.Errorf("%w: stream %s has %d bytes, more than its share of %d: want more, or let messages go first with `ctxledger retention`", ErrTenant, s.Name, info.State.Bytes, share)
		}
	}
	var undo []jetstream.StreamConfig
	for _, s := range list {
		stream, err := e.js.Stream(ctx, s.Name)
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", s.Name, err)
		}
		c := stream.CachedInfo().Config
		if c.MaxBytes == share {
			continue
		}
		undo = append(undo, c)
		c.MaxBytes = share
		if _, err := e.js.UpdateStream(ctx, c); err != nil {
			err = fmt.Errorf("change the size of stream %s: %w", s.Name, refusedBytes(err, want))
			for _, c := range undo[:len(undo)-1] {
				_, failed := e.js.UpdateStream(context.WithoutCancel(ctx), c)
				err = errors.Join(err, failed)
			}
			return err
		}
	}
	for _, c := range undo {
		e.done = append(e.done, fmt.Sprintf("changed stream %s of tenant %s to %d bytes", c.Name, want.Tenant, share))
	}
	return nil
}

// drain returns when a stream has stored every message that it had received before the call. The server
// takes messages in order, and refuses the last one, because it expects another stream.
func (e *ensure) drain(ctx context.Context, name string) error {
	const codeOtherStream jetstream.ErrorCode = 10060
	stream, err := e.js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", name, err)
	}
	subject := strings.NewReplacer(">", "drain", "*", "drain").Replace(stream.CachedInfo().Config.Subjects[0])
	_, err = e.js.Publish(ctx, subject, nil, jetstream.WithExpectStream("ctxledger-expects-no-stream"))
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeOtherStream {
		return nil
	}
	return fmt.Errorf("wait until stream %s has stored what it received: %w", name, err)
}
