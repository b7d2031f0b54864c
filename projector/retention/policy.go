package retention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/schema"
)

// Policy says what an installation keeps. The zero Policy keeps everything. The messages that are older
// than the age leave their stream, and the oldest ones while a stream has more than Bytes. The content
// of events leaves the tables later, because a rebuild reads the messages. The decisions leave last.
type Policy struct {
	// AgeSeconds is the age of a message by the server's clock. 0 is no limit.
	AgeSeconds int64 `json:"age_seconds"`
	// Bytes is the size of one stream on one server. 0 is no limit.
	Bytes uint64 `json:"bytes"`
	// TenantAges and TenantBytes are the limits of messages for tenants with streams of their own, in
	// seconds and in bytes of one stream. 0 is no limit.
	TenantAges  map[string]int64  `json:"tenant_age_seconds,omitempty"`
	TenantBytes map[string]uint64 `json:"tenant_bytes,omitempty"`
	// AfterBackup keeps messages that the tables of no full backup have.
	AfterBackup bool `json:"after_backup"`
	// ContentAgeSeconds is the age of content in the tables. 0 is no limit.
	ContentAgeSeconds int64 `json:"content_age_seconds"`
	// TenantContent are the ages for tenants of their own, in seconds. 0 is no limit.
	TenantContent map[string]int64 `json:"tenant_content_age_seconds,omitempty"`
	// ContentBytes is the uncompressed size of the content of one tenant in the tables of one machine. 0 is no
	// limit.
	ContentBytes uint64 `json:"content_bytes,omitempty"`
	// TenantContentBytes are the sizes for tenants of their own. 0 is no limit.
	TenantContentBytes map[string]uint64 `json:"tenant_content_bytes,omitempty"`
	// DecisionAgeSeconds is the age of a session in the tables, by its last event. 0 is no limit.
	DecisionAgeSeconds int64 `json:"decision_age_seconds,omitempty"`
	// TenantDecisions are the ages for tenants of their own, in seconds. 0 is no limit.
	TenantDecisions map[string]int64 `json:"tenant_decision_age_seconds,omitempty"`
}

// Age returns the age, or 0.
func (p Policy) Age() time.Duration { return time.Duration(p.AgeSeconds) * time.Second }

// Of returns the policy with the age and the bytes of the streams of a tenant's own. "" stands for the
// shared streams.
func (p Policy) Of(tenant string) Policy {
	if age, own := p.TenantAges[tenant]; own {
		p.AgeSeconds = age
	}
	if bytes, own := p.TenantBytes[tenant]; own {
		p.Bytes = bytes
	}
	return p
}

// IsZero reports whether the policy keeps everything.
func (p Policy) IsZero() bool {
	keeps := p.AgeSeconds == 0 && p.Bytes == 0
	for _, tenant := range p.Tenants() {
		of := p.Of(tenant)
		keeps = keeps && of.AgeSeconds == 0 && of.Bytes == 0
	}
	return keeps
}

// Tenants returns the tenants whose streams have limits of their own, sorted.
func (p Policy) Tenants() []string {
	all := slices.Concat(slices.Collect(maps.Keys(p.TenantAges)), slices.Collect(maps.Keys(p.TenantBytes)))
	slices.Sort(all)
	return slices.Compact(all)
}

// contentAges returns the ages of content by tenant. "" are all others.
func (p Policy) contentAges() map[string]time.Duration {
	return ages(p.ContentAgeSeconds, p.TenantContent)
}

// decisionAges returns the ages of decisions by tenant. "" are all others.
func (p Policy) decisionAges() map[string]time.Duration {
	return ages(p.DecisionAgeSeconds, p.TenantDecisions)
}

// contentLimits returns the bytes of content by tenant. "" are all others.
func (p Policy) contentLimits() map[string]uint64 {
	limits := map[string]uint64{"": p.ContentBytes}
	for tenant, n := range p.TenantContentBytes {
		limits[schema.TenantOf(tenant)] = n
	}
	return limits
}

func ages(others int64, own map[string]int64) map[string]time.Duration {
	all := map[string]time.Duration{"": time.Duration(others) * time.Second}
	for tenant, seconds := range own {
		all[schema.TenantOf(tenant)] = time.Duration(seconds) * time.Second
	}
	return all
}

// shortest is the shortest age. The server forgets a message id after the duplicate window, and a
// message must not leave before.
var shortest = schema.Streams()[0].Duplicates

// ErrPolicy means that a policy is not valid.
var ErrPolicy = errors.New("not a valid retention")

// Validate returns [ErrPolicy] with the reason if the policy is not valid.
func (p Policy) Validate() error {
	for _, tenant := range append(p.Tenants(), "") {
		if of := p.Of(tenant); of.AgeSeconds < 0 || of.AgeSeconds > 0 && of.Age() < shortest {
			return fmt.Errorf("%w: an age of %v is below %v, for which the server remembers the ids of messages to find repeats", ErrPolicy, of.Age(), shortest)
		}
	}
	switch {
	case p.AfterBackup && p.IsZero():
		return fmt.Errorf("%w: it waits for a backup, but has neither an age nor a number of bytes", ErrPolicy)
	}
	for tenant, age := range p.contentAges() {
		if messages := p.Of(tenant); age != 0 && (messages.AgeSeconds == 0 || age < messages.Age()) {
			return fmt.Errorf("%w: %s has the age %v, but its messages stay in the streams for longer: content leaves the tables after its message left", ErrPolicy, ofTenant("content", tenant), age)
		}
	}
	for tenant, n := range p.contentLimits() {
		if messages := p.Of(tenant); n != 0 && messages.AgeSeconds == 0 && messages.Bytes == 0 {
			return fmt.Errorf("%w: %s has a number of bytes, but its messages stay in the streams: content leaves the tables after its message left", ErrPolicy, ofTenant("content", tenant))
		}
	}
	return p.validateDecisions()
}

// validateDecisions returns [ErrPolicy] if the decisions of a tenant would leave before its content.
func (p Policy) validateDecisions() error {
	content, decisions := p.contentAges(), p.decisionAges()
	tenants := slices.Concat(slices.Collect(maps.Keys(content)), slices.Collect(maps.Keys(decisions)))
	for _, tenant := range tenants {
		age, first := of(decisions, tenant), of(content, tenant)
		if age != 0 && (first == 0 || age < first) {
			return fmt.Errorf("%w: %s have the age %v, but the content stays for longer: decisions leave the tables after the content, so set an age of content that is not longer", ErrPolicy, ofTenant("decisions", tenant), age)
		}
	}
	return nil
}

// of returns the age of a tenant.
func of(ages map[string]time.Duration, tenant string) time.Duration {
	if own, found := ages[tenant]; found {
		return own
	}
	return ages[""]
}

func ofTenant(what, tenant string) string {
	if tenant == "" {
		return what
	}
	return fmt.Sprintf("%s of tenant %q", what, tenant)
}

// The keys of the bucket of leases.
const (
	policyKey = "retention.policy"
	backupKey = "retention.backup"
)

// ReadPolicy reads the policy of an installation. An installation without one keeps everything.
func ReadPolicy(ctx context.Context, kv jetstream.KeyValue) (p Policy, err error) {
	_, err = get(ctx, kv, policyKey, &p)
	return p, err
}

// WritePolicy sets the policy of an installation. Errors: [ErrPolicy].
func WritePolicy(ctx context.Context, kv jetstream.KeyValue, p Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	return put(ctx, kv, policyKey, p)
}

// BackedUp records that the tables of a full backup have the messages of each stream up to a sequence. The
// streams are named by their incarnations.
func BackedUp(ctx context.Context, kv jetstream.KeyValue, through map[string]uint64) error {
	return put(ctx, kv, backupKey, through)
}

// backedUp reads the record of the last backup.
func backedUp(ctx context.Context, kv jetstream.KeyValue) (through map[string]uint64, err error) {
	_, err = get(ctx, kv, backupKey, &through)
	return through, err
}

func get(ctx context.Context, kv jetstream.KeyValue, key string, into any) (bool, error) {
	entry, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(entry.Value(), into)
	}
	if err != nil {
		return false, fmt.Errorf("read %s of the bucket %s: %w", key, lease.Bucket, err)
	}
	return true, nil
}

func put(ctx context.Context, kv jetstream.KeyValue, key string, value any) error {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err == nil {
		_, err = kv.Put(ctx, key, text)
	}
	if err != nil {
		return fmt.Errorf("write %s of the bucket %s: %w", key, lease.Bucket, err)
	}
	return nil
}
