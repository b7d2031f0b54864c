package streamio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/lease"
)

// EnsureRules makes the newest rules hold for every stream of events, from the
// sequence after its last commit on, and repairs metadata that the commits
// contradict. What was projected before stays as it is. It returns what it changed,
// for people.
//
// It takes the lease of each stream that it changes, which a running projector hands
// over, so two that run at once change a stream one after the other. It may be run
// again after any end. The tables must be migrated. Errors: [ErrNewerRules] where a
// newer ctxledger has changed the rules, or one of the servers. The owner is as in
// Config; nil discards the log.
func EnsureRules(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger, owner string, log *slog.Logger) (changed []string, err error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	owner = cmp.Or(owner, uuid.NewString())
	n, err := ReadPartitions(ctx, js)
	if err != nil {
		return nil, err
	}
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return nil, err
	}
	for _, s := range n.EventStreams() {
		e := rulesEnsurer{js: js, kv: kv, ledger: l, stream: s.Name, owner: owner, log: log, timing: lease.DefaultTiming}
		what, err := e.ensure(ctx)
		if err != nil {
			return changed, fmt.Errorf("rules of stream %s: %w", s.Name, err)
		}
		if what != "" {
			changed = append(changed, what)
		}
	}
	return changed, nil
}

// rulesEnsurer makes the newest rules hold for one stream.
type rulesEnsurer struct {
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	ledger *ledger.Ledger
	stream string
	owner  string
	log    *slog.Logger
	timing lease.Timing
}

func (e rulesEnsurer) ensure(ctx context.Context) (string, error) {
	wanted, text, _, err := e.wanted(ctx, nil)
	if err != nil {
		return "", err
	}
	fenced, err := lease.IsFenced(ctx, e.kv, e.stream)
	if err != nil || fenced && wanted.String() == text {
		return "", err
	}
	own, held, err := e.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer func() {
		if err := own.Release(context.WithoutCancel(ctx)); err != nil {
			e.log.Warn("the lease was not released and has to expire", "event", "lease_not_released", "error", err)
		}
	}()
	return e.change(held, own.Pending())
}

// acquire takes the lease from whoever holds it, also from a projector that knows
// only the key of older versions.
func (e rulesEnsurer) acquire(ctx context.Context) (*lease.Lease, context.Context, error) {
	claim := lease.Claim{KV: e.kv, Key: lease.KeyOf(e.stream), Owner: e.owner, Timing: e.timing, Log: e.log}
	if err := claim.Inherit(ctx, e.stream); err != nil {
		return nil, nil, err
	}
	return claim.Request(ctx)
}

// change writes the metadata. The caller holds the lease, so that nothing is
// projected meanwhile.
func (e rulesEnsurer) change(ctx context.Context, pending *ledger.Range) (string, error) {
	wanted, text, config, err := e.wanted(ctx, pending)
	if err != nil || wanted.String() == text {
		return "", err
	}
	config.Metadata = maps.Clone(config.Metadata)
	config.Metadata[RulesKey] = wanted.String()
	if _, err := e.js.UpdateStream(ctx, config); err != nil {
		return "", fmt.Errorf("change the stream's metadata: %w", err)
	}
	last := wanted[len(wanted)-1]
	return fmt.Sprintf("stream %s: version %d of the rules holds from sequence %d on", e.stream, last.version, last.From), nil
}

// wanted returns the rules that are to hold, the text that the metadata has, and the
// configuration of the stream.
func (e rulesEnsurer) wanted(ctx context.Context, pending *ledger.Range) (rules, string, jetstream.StreamConfig, error) {
	stream, incarnation, err := OpenStream(ctx, e.js, e.stream)
	if err != nil {
		return nil, "", jetstream.StreamConfig{}, err
	}
	config := stream.CachedInfo().Config
	// A contradiction is not logged: it is repaired, and the caller says so.
	have, err := readRules(ctx, config, incarnation, e.ledger, slog.New(slog.DiscardHandler))
	if err != nil && !errors.Is(err, ErrNoRules) {
		return nil, "", config, err
	}
	if have.Newest() < ledger.NewestRules {
		last, _, err := e.ledger.LastCommit(ctx, incarnation)
		if err != nil {
			return nil, "", config, err
		}
		above := last.Last
		if pending != nil && pending.Incarnation == incarnation {
			above = max(above, pending.Last)
		}
		have = append(have, rulesFrom{ledger.NewestRules, above + 1})
	}
	return have, config.Metadata[RulesKey], config, nil
}
