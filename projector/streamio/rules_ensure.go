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

// EnsureRules applies the newest rules to every stream of events, from the sequence after its
// last commit. EnsureRules also repairs metadata that the commits contradict. Projected events stay
// unchanged. EnsureRules returns a description of each change.
//
// EnsureRules takes the lease of each stream that it changes, and a running projector hands the
// lease over. Two concurrent calls therefore change a stream one after the other. EnsureRules
// may be repeated after an interruption. The tables must be migrated. The owner is a name as in
// projector.Config. A nil log discards the messages.
//
// Errors: [ErrNewerRules] if a newer ctxledger has changed the rules, or an error of a server.
func EnsureRules(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger, owner string, log *slog.Logger) (changed []string, err error) {
	streams, err := ReadStreams(ctx, js)
	if err != nil {
		return nil, err
	}
	for _, s := range streams {
		what, err := EnsureStreamRules(ctx, js, l, s.Name, owner, log)
		if err != nil {
			return changed, err
		}
		if what != "" {
			changed = append(changed, what)
		}
	}
	return changed, nil
}

// EnsureStreamRules is [EnsureRules] for one stream. The ledger has the commits of the stream. The
// result is empty if nothing was changed.
func EnsureStreamRules(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger, stream, owner string, log *slog.Logger) (string, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return "", err
	}
	owner = cmp.Or(owner, uuid.NewString())
	e := rulesEnsurer{js: js, kv: kv, ledger: l, stream: stream, owner: owner, log: log, timing: lease.DefaultTiming}
	what, err := e.ensure(ctx)
	if err != nil {
		return "", fmt.Errorf("rules of stream %s: %w", stream, err)
	}
	return what, nil
}

// rulesEnsurer applies the newest rules to one stream.
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
	defer own.End(ctx, nil)
	return e.change(held, own.Pending())
}

// acquire takes the lease from its holder, which may be a projector of an older version with
// the old key.
func (e rulesEnsurer) acquire(ctx context.Context) (*lease.Lease, context.Context, error) {
	claim := lease.Claim{KV: e.kv, Key: lease.KeyOf(e.stream), Owner: e.owner, Timing: e.timing, Log: e.log}
	if err := claim.Inherit(ctx, e.stream); err != nil {
		return nil, nil, err
	}
	return claim.Request(ctx)
}

// change writes the metadata. The caller holds the lease, so nothing is projected during the
// change.
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

// wanted returns the rules to apply, the rules in the metadata as text, and the configuration
// of the stream.
func (e rulesEnsurer) wanted(ctx context.Context, pending *ledger.Range) (rules, string, jetstream.StreamConfig, error) {
	stream, incarnation, err := OpenStream(ctx, e.js, e.stream)
	if err != nil {
		return nil, "", jetstream.StreamConfig{}, err
	}
	config := stream.CachedInfo().Config
	// A contradiction is not logged, because it is repaired and the caller reports the repair.
	recorded, err := e.ledger.RecordedRules(ctx, []uuid.UUID{incarnation})
	if err != nil {
		return nil, "", config, err
	}
	have, err := rulesOf(config, recorded[incarnation], slog.New(slog.DiscardHandler))
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
