package streamio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrPartitions means that the number of streams of events differs from the requested number.
// The number is fixed when the streams are created.
var ErrPartitions = errors.New("the number of partitions cannot be changed")

// An EventStream is a stream of events.
type EventStream struct {
	Name        string
	Tenant      string    // whose own stream it is; "" for a shared one
	Incarnation uuid.UUID // zero before [Ensure] has given it one
}

// ReadPartitions reads the number of shared streams of events from the server. Errors: [ErrNoStream]
// if all or some of them are missing.
func ReadPartitions(ctx context.Context, js jetstream.JetStream) (schema.Partitions, error) {
	l, err := readLayout(ctx, js)
	if err != nil {
		return 0, err
	}
	_, err = l.streamsOf("")
	return l.partitions[""], err
}

// ReadStreams reads the list of all streams of events from the server: the shared ones, then those of
// each tenant with streams of its own, each in the order of the partitions. Streams of a tenant that
// an interrupted [EnsureTenant] has not opened yet are left out. Errors: [ErrNoStream] if streams are
// missing.
func ReadStreams(ctx context.Context, js jetstream.JetStream) (all []EventStream, err error) {
	l, err := readLayout(ctx, js)
	if err != nil {
		return nil, err
	}
	for _, tenant := range l.tenants() {
		list, err := l.streamsOf(tenant)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(s EventStream) bool { return tenant != "" && isClosed(l.found[s.Name].Config) }) {
			all = append(all, list...)
		}
	}
	return all, nil
}

// StreamNames returns the names of streams.
func StreamNames(list []EventStream) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	return names
}

// layout is what the server has of the streams of events.
type layout struct {
	partitions map[string]schema.Partitions     // by tenant; "" has the shared ones
	found      map[string]*jetstream.StreamInfo // by name
}

// readLayout lists the streams of events. The error is [ErrNoStream] if no stream is shared, also
// where a tenant has streams of its own.
func readLayout(ctx context.Context, js jetstream.JetStream) (layout, error) {
	l := layout{partitions: make(map[string]schema.Partitions), found: make(map[string]*jetstream.StreamInfo)}
	infos, err := ReadInfos(ctx, js, holdsEvents)
	if err != nil {
		return l, err
	}
	for _, info := range infos {
		name := info.Config.Name
		tenant, partition, _ := schema.ParseStreamName(name)
		n, err := schema.ParsePartitions(info.Config.Metadata[schema.PartitionsKey])
		if err != nil {
			return l, fmt.Errorf("stream %s: %w", name, err)
		}
		if of, other := l.partitions[tenant]; other && of != n {
			return l, fmt.Errorf("%w: some streams are of %d, the stream %s is of %d", ErrPartitions, of, name, n)
		}
		if partition >= int(n) || n.StreamOf(tenant, partition).Name != name {
			return l, fmt.Errorf("%w: the stream %s is not one of %d", ErrPartitions, name, n)
		}
		l.partitions[tenant], l.found[name] = n, info
	}
	if l.partitions[""] == 0 {
		return l, ErrNoStream
	}
	return l, nil
}

// tenants returns "" for the shared streams, and the tenants with streams of their own.
func (l layout) tenants() []string { return slices.Sorted(maps.Keys(l.partitions)) }

// streamsOf returns the streams of a tenant. Errors: [ErrNoStream] if one is missing.
func (l layout) streamsOf(tenant string) ([]EventStream, error) {
	n := l.partitions[tenant]
	list := make([]EventStream, n)
	for i, s := range n.EventStreamsOf(tenant) {
		info := l.found[s.Name]
		if info == nil {
			return nil, fmt.Errorf("%s, one of %d: %w", s.Name, n, ErrNoStream)
		}
		incarnation, _ := uuid.Parse(info.Config.Metadata[IncarnationKey])
		list[i] = EventStream{s.Name, tenant, incarnation}
	}
	return list, nil
}

// shared returns the tenants whose events the shared streams take. all means that they take the
// events of every tenant, which then is the only member.
func (l layout) shared() (tenants []string, all bool) {
	for _, s := range l.partitions[""].EventStreams() {
		info := l.found[s.Name]
		if info == nil {
			continue
		}
		for _, subject := range info.Config.Subjects {
			if token, _, _ := strings.Cut(strings.TrimPrefix(subject, strings.TrimSuffix(schema.AllSubjects, ">")), "."); token == "*" || token == ">" {
				return []string{""}, true
			}
			if tenant := schema.SubjectTenant(subject); strings.Count(subject, ".") > strings.Count(schema.AllSubjects, ".") {
				tenants = append(tenants, tenant)
			}
		}
	}
	slices.Sort(tenants)
	return slices.Compact(tenants), false
}

// sharing returns the tenants for [schema.Partitions.SubjectsOf] of a shared stream that is missing.
func (l layout) sharing() []string {
	tenants, _ := l.shared()
	own := len(l.partitions) > 1 || len(l.partitions) == 1 && l.partitions[""] == 0
	switch {
	case len(tenants) == 0 && !own:
		return []string{""}
	case l.partitions[""] == 0 && l.partitions[schema.DefaultTenant] == 0: // all shared streams are lost
		return []string{schema.DefaultTenant}
	}
	return tenants
}
