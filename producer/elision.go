package producer

import (
	"context"
	"slices"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Elide records a planned pass over the window: what it shortened, what it moved
// at the head, and what it was planned to cost. Go on with the pass's Window and
// Head. A pass that elided nothing is no fact, and nothing is recorded.
//
// The plan stands in the fact's metadata under "planned": the window's tokens
// before and after, those to be computed again, those saved on each later call,
// the rates and, where it ever pays, the break-even in calls.
func (c *Call) Elide(ctx context.Context, pass window.Pass) error {
	if len(pass.Elided) == 0 {
		return nil
	}
	id := nth("elision:"+c.id, c.passes)
	list := facts.AsFacts(facts.ElisionParts(id, c.id, pass, c.turn.run.log.position))
	if err := c.turn.Record(ctx, append(list, headFacts(c.id, id, pass.Moved)...)...); err != nil {
		return err
	}
	c.passes++
	return nil
}

// Reload records that items which a pass elided are in the window in full again,
// and why, such as "model_request". The error is an [*InvalidError] for an item
// that the pass did not elide, or for none.
func (c *Call) Reload(ctx context.Context, pass window.Pass, trigger string, items ...string) error {
	whole := make([]window.Elided, len(items))
	for i, id := range items {
		at := slices.IndexFunc(pass.Elided, func(e window.Elided) bool { return e.ID == id })
		if at < 0 {
			return invalid("reloaded item", "is not one that the pass elided")
		}
		whole[i] = pass.Elided[at]
	}
	if len(whole) == 0 {
		return invalid("reloaded item", "must be named")
	}
	if err := c.turn.Record(ctx, facts.AsFacts(facts.ReloadedParts(c.reload(pass.Policy, trigger), whole, c.turn.run.log.position))...); err != nil {
		return err
	}
	c.reloads++
	return nil
}

// reload is what the parts of the call's next reload share.
func (c *Call) reload(policy, trigger string) schema.Elision {
	return schema.Elision{PassID: nth("reload:"+c.id, c.reloads), CallID: c.id, Policy: policy, Trigger: trigger}
}

// BillOf returns what a provider billed for a call's input, for
// [window.Pass.Settle]. It is false where the provider did not say how large the
// input was or how much of it came from the cache: unknown is not zero.
func BillOf(u schema.ProviderUsage) (window.Bill, bool) {
	tokens, known := u.Window()
	if !known || u.CacheRead == nil || *u.CacheRead < 0 || *u.CacheRead > tokens {
		return window.Bill{}, false
	}
	return window.Bill{Window: int(tokens), Read: int(*u.CacheRead)}, true
}

// nth tells the records of one call apart; the first has no number.
func nth(id string, before int) string {
	if before == 0 {
		return id
	}
	return id + ":" + strconv.Itoa(before+1)
}

// sentWhole is the trigger of a reload that the runtime made by sending a
// shortened item in full again.
const sentWhole = "sent_whole"

// A shortening is what the ladder did to tool outputs that the thread's earlier
// calls sent otherwise: it holds for later calls, until an item is sent whole.
type shortening struct {
	policy string          // its name in facts
	stubs  []window.Elided // shortened now, and not in the same way before
	whole  []window.Elided // shortened before, and sent in full now
}

// shortened compares a plan with what earlier plans of the thread shortened. A
// plan that does not fit is not sent, and changes nothing.
func (l *itemLog) shortened(plan window.Plan) (s shortening) {
	if plan.TokensAfter > plan.Limit {
		return s
	}
	s.policy = facts.PolicyName(plan.Policy)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range plan.Shortened() {
		e.Index, e.Position = 0, 0 // places of one window
		if l.stubs[e.ID] != e {
			s.stubs = append(s.stubs, e)
		}
	}
	for _, it := range plan.Window {
		if e, was := l.stubs[it.ID]; was && it.Kind != window.KindStub && it.Tokens != e.Stub {
			s.whole = append(s.whole, e)
		}
	}
	return s
}

// carry remembers a shortening that is recorded.
func (l *itemLog) carry(s shortening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stubs == nil {
		l.stubs = make(map[string]window.Elided)
	}
	for _, e := range s.stubs {
		l.stubs[e.ID] = e
	}
	for _, e := range s.whole {
		delete(l.stubs, e.ID)
	}
}

// shorten makes the facts of a shortening: an elision, and a reload.
func (c *Call) shorten(s shortening) (list []schema.Fact) {
	if len(s.stubs) > 0 {
		level := s.stubs[0].Level
		for _, e := range s.stubs {
			if e.Level != level {
				level = window.Hybrid
			}
		}
		list = facts.AsFacts(facts.ElidedParts(schema.Elision{
			PassID: nth("elision:"+c.id, c.passes), CallID: c.id, Policy: s.policy, Trigger: string(schema.TriggerTokenPressure),
			Level: schema.ElisionLevel(level),
		}, s.stubs, c.turn.run.log.position))
	}
	if len(s.whole) > 0 {
		list = append(list, facts.AsFacts(facts.ReloadedParts(c.reload(s.policy, sentWhole), s.whole, c.turn.run.log.position))...)
	}
	return list
}

// told is what a plan gives to record, and what holds once it is recorded.
type told struct {
	call  *Call
	short shortening
	facts []schema.Fact
}

func (c *Call) tell(items []window.Item, plan window.Plan) told {
	t := told{call: c, short: c.turn.run.log.shortened(plan)}
	t.facts = append(facts.PlanFacts(c.about(), items, plan), c.shorten(t.short)...)
	return t
}

// recorded is called with the error of recording the facts, and returns it.
func (t told) recorded(err error) error {
	if err != nil {
		return err
	}
	t.call.turn.run.log.carry(t.short)
	t.call.passes += min(1, len(t.short.stubs))
	t.call.reloads += min(1, len(t.short.whole))
	return nil
}
