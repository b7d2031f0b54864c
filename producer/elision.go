package producer

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Elide records a planned pass over the window: the shortened items, the moved injections
// of the head, and the planned cost. Continue with the pass's Window and Head. For a pass
// without elided items nothing is recorded.
//
// The plan is in the fact's metadata under "planned". The plan holds the window's tokens
// before and after, the tokens to be computed again, the tokens saved on each later call,
// and the rates. If the pass ever pays for itself, the plan also holds the break-even in
// calls.
func (c *Call) Elide(ctx context.Context, pass window.Pass) error {
	if len(pass.Elided) == 0 {
		return nil
	}
	id := nth("elision:"+c.id, c.passes)
	pass.Elided = slices.Clone(pass.Elided)
	for i := range pass.Elided {
		if e := &pass.Elided[i]; e.Note != "" && e.StubDigest == "" {
			note, _ := c.turn.run.client.withheld.guard().Mask(e.Note)
			e.StubDigest = c.turn.run.client.config.Key.Digest([]byte(note))
		}
	}
	log := c.turn.run.log
	list := facts.AsFacts(facts.ElisionParts(id, c.id, pass, log.position))
	if err := c.turn.Record(ctx, append(list, headFacts(c.id, id, pass.Moved)...)...); err != nil {
		return err
	}
	c.passes++
	log.elide(pass.Policy, pass.Elided, pass.Was)
	return nil
}

// Reload records that elided items of a pass are in the window in full again, with the
// trigger, such as "model_request". The error is an [*InvalidError] for an item that the
// pass did not elide, and for an empty list.
func (c *Call) Reload(ctx context.Context, pass window.Pass, trigger string, items ...string) error {
	whole := make([]window.Elided, len(items))
	for i, id := range items {
		at := slices.IndexFunc(pass.Elided, func(e window.Elided) bool { return e.ID == id })
		if at < 0 {
			return notElided("is not one that the pass elided")
		}
		whole[i] = pass.Elided[at]
	}
	if len(whole) == 0 {
		return invalid("reloaded item", "must be named; give at least one item id")
	}
	if err := c.turn.Record(ctx, facts.AsFacts(facts.ReloadedParts(c.reload(pass.Policy, trigger), whole, c.turn.run.log.position))...); err != nil {
		return err
	}
	c.reloads++
	c.turn.run.log.whole(items)
	return nil
}

func notElided(problem string) *InvalidError {
	return &InvalidError{Field: "reloaded item", Problem: problem, also: ErrNotElided}
}

// Store keeps the content of elided items for the host. The SDK keeps none. The host writes
// the elided items to it.
type Store interface {
	// Load returns the Text and the Parts of an item. The reference is the one in the
	// item's stub, or empty.
	Load(ctx context.Context, item, reloadRef string) (Content, error)
}

// Restore puts elided items back into a window, in their original form. An item replaces
// its stub, or goes to its place in the item log. A tool call that was elided as a whole is
// restored as a whole. Each content is first loaded from the store and must have the digest
// of the item, if the digest is known. The reload is recorded with its trigger, such as
// "model_request". With an error nothing is recorded.
//
// Errors are an [*InvalidError] and a [*WorkError]. The [*InvalidError] wraps
// [ErrNotElided] for an item that was never elided or is in the window in full. The
// [*WorkError] is for a store that panics, hangs or fails.
//
// Source: seed 004 (elision, level 3: where the full content can be reloaded from).
func (c *Call) Restore(ctx context.Context, items []window.Item, store Store, trigger string, ids ...string) ([]window.Item, error) {
	log := c.turn.run.log
	back, err := log.back(items, ids)
	if err != nil {
		return nil, err
	}
	whole := make([]window.Elided, len(back))
	for i, e := range back {
		if err := e.load(ctx, c, store); err != nil {
			return nil, c.hide(err)
		}
		whole[i] = e.Elided
	}
	parts := facts.ReloadedParts(c.reload(back[0].policy, trigger), whole, log.position)
	if err := c.turn.Record(ctx, facts.AsFacts(parts)...); err != nil {
		return nil, err
	}
	c.reloads++
	restored, done := slices.Clone(items), make([]string, len(back))
	for i, e := range back {
		restored, done[i] = log.restore(restored, e.was), e.ID
	}
	log.whole(done)
	return restored, nil
}

// load reads the item's content from the store and compares it with the item.
func (e elided) load(ctx context.Context, c *Call, store Store) error {
	content, err := work(ctx, func(ctx context.Context) (Content, error) { return store.Load(ctx, e.ID, e.ReloadRef) })
	if err != nil {
		return err
	}
	a, err := c.turn.run.arrive(c.turn.model.Name, Content{ID: e.ID, Text: content.Text, Parts: content.Parts})
	switch {
	case err != nil:
		return err
	case content.Text == "" && len(content.Parts) == 0:
		return invalid("reloaded content", "is empty; the store has no content for the item")
	case e.was.Digest != "" && a.item.Digest != "" && a.item.Digest != e.was.Digest:
		return invalid("reloaded content", "has another digest than the elided item")
	}
	return nil
}

// elided is an item that a pass or the ladder shortened, in its original form.
type elided struct {
	window.Elided
	policy string
	was    window.Item
}

// elide remembers items that are no longer in the window in full.
func (l *itemLog) elide(policy string, list []window.Elided, was []window.Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.elided == nil {
		l.elided = make(map[string]elided)
	}
	for i, e := range list {
		if i == len(was) {
			return
		}
		now := elided{e, policy, was[i]}
		if before, again := l.elided[e.ID]; again && now.was.Kind == window.KindStub {
			now.was, now.Before = before.was, before.Before // the original item, not its last stub
		}
		l.elided[e.ID] = now
	}
}

// whole forgets items that are in the window in full again.
func (l *itemLog) whole(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		delete(l.elided, id)
		delete(l.stubs, id)
	}
}

// back returns the items to put back into a window for these ids. The items are sorted by
// their former place in the window, then by id.
func (l *itemLog) back(items []window.Item, ids []string) ([]elided, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(ids) == 0 {
		return nil, invalid("reloaded item", "must be named")
	}
	asked := make(map[string]bool)
	for _, id := range ids {
		e, known := l.elided[id]
		at := slices.IndexFunc(items, func(it window.Item) bool { return it.ID == id })
		switch {
		case !known:
			return nil, notElided("was never elided on this thread, or was forgotten")
		case at >= 0 && items[at].Kind != window.KindStub:
			return nil, notElided("is in the window in full")
		}
		asked[id] = true
		for _, other := range l.elided {
			if e.sharesCall(other) && (e.Stub == 0 || other.Stub == 0) {
				asked[other.ID] = true
			}
		}
	}
	var back []elided
	for id := range asked {
		back = append(back, l.elided[id])
	}
	slices.SortFunc(back, func(a, b elided) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.ID, b.ID))
	})
	return back, nil
}

func (e elided) sharesCall(other elided) bool {
	return slices.ContainsFunc(e.was.CallIDs, func(id string) bool { return slices.Contains(other.was.CallIDs, id) })
}

// restore puts one item in the place of its stub, or after the items that precede it in the
// log.
func (l *itemLog) restore(items []window.Item, was window.Item) []window.Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.IndexFunc(items, func(it window.Item) bool { return it.ID == was.ID }); at >= 0 {
		items[at] = was
		return items
	}
	position, logged := l.positions[was.ID]
	at := len(items)
	for i := len(items) - 1; i >= 0 && logged; i-- {
		if other, known := l.positions[items[i].ID]; known {
			if other < position {
				return slices.Insert(items, i+1, was)
			}
			at = i
		}
	}
	return slices.Insert(items, at, was)
}

// reload returns the fields that the parts of the call's next reload share.
func (c *Call) reload(policy, trigger string) schema.Elision {
	return schema.Elision{PassID: nth("reload:"+c.id, c.reloads), CallID: c.id, Policy: policy, Trigger: trigger}
}

// BillOf returns the provider's bill for a call's input, for [window.Pass.Settle]. BillOf
// returns false if the provider did not report the input's size or the part from the cache.
// An unknown value is not zero.
func BillOf(u schema.ProviderUsage) (window.Bill, bool) {
	tokens, known := u.Window()
	if !known || u.CacheRead == nil || *u.CacheRead < 0 || *u.CacheRead > tokens {
		return window.Bill{}, false
	}
	return window.Bill{Window: int(tokens), Read: int(*u.CacheRead)}, true
}

// nth returns different ids for the records of one call; the first has no number.
func nth(id string, before int) string {
	if before == 0 {
		return id
	}
	return id + ":" + strconv.Itoa(before+1)
}

// sentWhole is the trigger of a reload by a runtime that sends a shortened item in full
// again.
const sentWhole = "sent_whole"

// A shortening is the difference between the ladder's tool outputs and the tool outputs of
// the thread's earlier calls. A shortening holds for later calls until an item is sent
// whole.
type shortening struct {
	policy string          // the policy's name in facts
	stubs  []window.Elided // items shortened now, in a new way
	was    []window.Item   // the same items before, in parallel
	whole  []window.Elided // items shortened earlier and sent in full now
}

// shortened compares a plan with the tool outputs that earlier plans of the thread
// shortened. A plan that does not fit is not sent and changes nothing.
func (l *itemLog) shortened(items []window.Item, plan window.Plan) (s shortening) {
	if plan.TokensAfter > plan.Limit {
		return s
	}
	s.policy = facts.PolicyName(plan.Policy)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range plan.Shortened() {
		e.Index, e.Position = 0, 0 // their values hold in one window only
		if l.stubs[e.ID] != e {
			s.stubs = append(s.stubs, e)
			s.was = append(s.was, items[slices.IndexFunc(items, func(it window.Item) bool { return it.ID == e.ID })])
		}
	}
	for _, it := range plan.Window {
		if e, was := l.stubs[it.ID]; was && it.Kind != window.KindStub && it.Tokens != e.Stub {
			s.whole = append(s.whole, e)
		}
	}
	return s
}

// carry remembers a recorded shortening.
func (l *itemLog) carry(s shortening) {
	if len(s.stubs) > 0 {
		l.elide(s.policy, s.stubs, s.was)
	}
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
		delete(l.elided, e.ID)
	}
}

// shorten returns the facts of a shortening: an elision and a reload.
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

// told holds a plan's facts, and the state that is kept after they are recorded.
type told struct {
	call  *Call
	short shortening
	facts []schema.Fact
}

func (c *Call) tell(items []window.Item, plan window.Plan) told {
	t := told{call: c, short: c.turn.run.log.shortened(items, plan)}
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
