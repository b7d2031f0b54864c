package retention

import (
	"context"
	"errors"
	"fmt"
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
	content, decisions string // the times of the last removal, see [tablesPass.expiry]
	weighed            time.Time
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
	if e, times := t.expiry(t.policy.contentAges()); times != t.past.content {
		whole, err := t.empty(ctx, done, e)
		if err != nil {
			return err
		}
		if whole {
			t.past.content = times
		}
	}
	if err := t.lighten(ctx, done); err != nil {
		return err
	}
	e, times := t.expiry(t.policy.decisionAges())
	if times == t.past.decisions {
		return nil
	}
	err := t.forget(ctx, done, e)
	if err == nil {
		t.past.decisions = times
	}
	return err
}

// expiry names what is older than the ages of the tenants. times is the text of its times, or "" without an
// age.
func (t tablesPass) expiry(ages map[string]time.Duration) (e privacy.Expiry, times string) {
	e = privacy.Expiry{Own: make(map[string]time.Time), Firsts: t.firsts}
	aged := false
	for tenant, age := range ages {
		var before time.Time
		if age > 0 {
			before, aged = t.now.Add(-age).Truncate(step(age)), true
		}
		if tenant == "" {
			e.Before = before
		} else {
			e.Own[tenant] = before
		}
	}
	if aged {
		times = fmt.Sprint(e.Before, e.Own)
	}
	return e, times
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
		t.Log.Info("removed old content from the tables by the retention", "event", "retention", "events", n.Events, "quarantined", n.Refused, "before", e.Before, "own", e.Own)
	}
	_, err = texts.Sweep{JetStream: t.JetStream, Tables: t.Tables, Patience: textsPatience, Log: t.Log}.Run(ctx)
	if errors.Is(err, texts.ErrNotProjected) {
		t.Log.Info("texts of old content wait for the tables", "event", "texts_kept")
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
	if len(before) > 0 {
		if _, err := t.empty(ctx, done, privacy.Expiry{Own: before, Firsts: t.firsts}); err != nil {
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
	for tenant, before := range e.Own {
		if t.oldest.Before(before) {
			e.Own[tenant] = t.oldest
		}
	}
	var n uint64
	err := t.Tables.Each(func(l *ledger.Ledger) error {
		more, err := privacy.Of(l).ExpireDecisions(ctx, e)
		n += more
		return err
	})
	if done.Decisions += n; n > 0 {
		t.Log.Info("removed old decisions from the tables by the retention", "event", "retention", "rows", n, "before", e.Before, "own", e.Own)
	}
	return err
}
