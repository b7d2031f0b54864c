package retention

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/texts"
)

// memory is what a process has done in earlier passes, so that a pass does not look for it again.
type memory struct {
	content, decisions map[string]time.Time // up to which time, by tenant
	weighed            time.Time
}

func newMemory() *memory {
	return &memory{content: make(map[string]time.Time), decisions: make(map[string]time.Time)}
}

// tablesPass is the part of a pass that removes from the tables.
type tablesPass struct {
	Pass
	policy Policy
	now    time.Time // of the server of the streams
	oldest time.Time // of the first message that is in a stream, or now
	firsts map[uuid.UUID]uint64
	past   *memory
}

// weighEvery is the pause between two looks at the bytes of content. Each look reads all content.
const weighEvery = time.Hour

// textsPatience is the wait for the tables before texts are left to the next pass.
const textsPatience = 15 * time.Second

// step is the granularity of an age. Each step rewrites the parts of tables that have the rows of the step.
func step(age time.Duration) time.Duration { return min(max(age/8, time.Second), 24*time.Hour) }

// run removes content by age, then content by bytes, then decisions by age, and adds to done.
func (t tablesPass) run(ctx context.Context, done *Done) error {
	if err := t.each(t.policy.contentAges(), t.past.content, func(e privacy.Expiry) (bool, error) { return t.empty(ctx, done, e) }); err != nil {
		return err
	}
	if err := t.lighten(ctx, done); err != nil {
		return err
	}
	return t.each(t.policy.decisionAges(), t.past.decisions, func(e privacy.Expiry) (bool, error) { return true, t.forget(ctx, done, e) })
}

// each calls remove for each tenant with an age, unless it did so up to the same time before. remove reports
// whether it is done.
func (t tablesPass) each(ages map[string]time.Duration, past map[string]time.Time, remove func(privacy.Expiry) (bool, error)) error {
	for tenant, age := range ages {
		before := t.now.Add(-age).Truncate(step(age))
		if age == 0 || past[tenant].Equal(before) {
			continue
		}
		e := privacy.Expiry{Tenant: tenant, Before: before, Firsts: t.firsts}
		if tenant == "" {
			e.Except = slices.DeleteFunc(slices.Collect(maps.Keys(ages)), func(name string) bool { return name == "" })
		}
		whole, err := remove(e)
		if err != nil {
			return err
		}
		if whole {
			past[tenant] = before
		}
	}
	return nil
}

// empty removes old content from the tables, and then the texts that only this content named. whole is false
// if these texts wait for the tables.
func (t tablesPass) empty(ctx context.Context, done *Done, e privacy.Expiry) (whole bool, err error) {
	var n privacy.Expired
	err = t.Tables.Each(func(l *ledger.Ledger) error {
		more, err := privacy.Of(l).Expire(ctx, e)
		n.Events, n.Refused = n.Events+more.Events, n.Refused+more.Refused
		return err
	})
	done.Emptied, done.EmptiedRefused = done.Emptied+n.Events, done.EmptiedRefused+n.Refused
	if err != nil {
		return false, err
	}
	if n != (privacy.Expired{}) {
		t.Log.Info("removed old content from the tables by the retention", "event", "retention", "tenant", e.Tenant, "events", n.Events, "quarantined", n.Refused, "before", e.Before)
	}
	_, err = texts.Sweep{JetStream: t.JetStream, Tables: t.Tables, Patience: textsPatience, Log: t.Log}.Run(ctx)
	if errors.Is(err, texts.ErrNotProjected) {
		t.Log.Info("texts of old content wait for the tables", "event", "texts_kept", "tenant", e.Tenant)
		return false, nil
	}
	return err == nil, err
}

// lighten removes the oldest content of tenants that have more than their bytes. Each shard has these bytes.
func (t tablesPass) lighten(ctx context.Context, done *Done) error {
	limits := t.policy.contentLimits()
	if !slices.ContainsFunc(slices.Collect(maps.Values(limits)), func(n uint64) bool { return n > 0 }) || t.now.Sub(t.past.weighed) < weighEvery {
		return nil
	}
	before := make(map[string]time.Time)
	err := t.Tables.Each(func(l *ledger.Ledger) error {
		return privacy.Of(l).Heavy(ctx, limits, func(tenant string, at time.Time) {
			if at.After(before[tenant]) {
				before[tenant] = at
			}
		})
	})
	if err != nil {
		return err
	}
	for _, tenant := range slices.Sorted(maps.Keys(before)) {
		if _, err := t.empty(ctx, done, privacy.Expiry{Tenant: tenant, Before: before[tenant], Firsts: t.firsts}); err != nil {
			return err
		}
	}
	t.past.weighed = t.now
	return nil
}

// forget removes old decisions from the tables. A session with a message in a stream keeps them.
func (t tablesPass) forget(ctx context.Context, done *Done, e privacy.Expiry) error {
	if t.oldest.Before(e.Before) {
		e.Before = t.oldest
	}
	var n uint64
	err := t.Tables.Each(func(l *ledger.Ledger) error {
		more, err := privacy.Of(l).ExpireDecisions(ctx, e)
		n += more
		return err
	})
	if done.Decisions += n; n > 0 {
		t.Log.Info("removed old decisions from the tables by the retention", "event", "retention", "tenant", e.Tenant, "rows", n, "before", e.Before)
	}
	return err
}
