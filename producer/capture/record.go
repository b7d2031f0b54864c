package capture

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/schema"
)

// record turns the copies of an exchange into facts and sends them.
func (r *Recorder) record(t *Tap) error {
	defer r.credentials.hold(t.head.credentials)()
	partial, err := t.read()
	if err != nil {
		r.counts.unread.Add(1)
		return err
	}
	session, err := r.sessions.of(t.head.session, &t.exchange)
	if err != nil {
		r.drop()
		t.waits = err
		return fmt.Errorf("make a session: %w", err)
	}
	next := session.Clone()
	call := observe.Call{
		At: t.at, Agent: t.head.agent, RequestID: t.head.requestID, Fidelity: schema.FidelityWire,
		Altered: r.config.Altered, Partial: partial, StoreText: r.config.StoreText, LargeText: r.config.Texts != nil, Titles: r.config.Titles,
	}
	if t.reported {
		call.Fidelity, call.Altered, call.Telling = schema.FidelityReported, false, ":reported"
	}
	facts := next.Observe(&r.reader, &t.exchange, call)
	r.texts.failed = false
	lost := r.counts.untold.Swap(0)
	if lost > 0 {
		facts = append(facts, lossFact(lost, t.at, facts))
	}
	var messages []schema.Message
	for i := range facts {
		runtime.Gosched() // bytes that pass are more urgent
		for _, e := range r.events(next, &facts[i]) {
			messages = append(messages, e.Binary())
		}
	}
	if t.waits, err = r.send(next, messages); err != nil {
		t.waits = err
		r.counts.untold.Add(lost)
		r.drop()
		return err
	}
	r.texts.settle(r.config.Transport)
	r.counts.recorded.Add(1)
	r.counts.facts.Add(int64(len(messages)))
	r.remember(next.ID, facts)
	return nil
}

// read reads the exchange from the copies. partial says what of it is missing.
func (t *Tap) read() (partial []string, err error) {
	if t.reported {
		return t.partial, nil
	}
	if t.sent.tooLarge || t.received.tooLarge {
		return nil, errTooLarge
	}
	body, err := t.sent.plain()
	if err != nil {
		return nil, err
	}
	x := &t.exchange
	if x.Request, err = x.Dialect.ReadRequest(body); err != nil {
		return nil, err
	}
	answer := x.Dialect.NewReader(x.Answer.Status, t.received.kind)
	partial = t.partial
	received, err := t.received.plain()
	if err != nil {
		partial = append(partial, string(schema.PartialTruncated))
	}
	_, _ = answer.Write(received)
	x.Answer = answer.Answer()
	return partial, nil
}

// send writes the next state with its facts, sends the facts, and confirms the state. waits is
// the reason why the facts wait in memory.
func (r *Recorder) send(s *observe.Session, messages []schema.Message) (waits, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	if err := r.sessions.keep(s, messages); err != nil {
		r.config.Log.Warn("the state of a session was not written; after a restart its items have new ids", "reason", err.Error())
	}
	if err := r.config.Transport.Send(ctx, messages...); err != nil {
		return nil, err
	}
	r.sessions.use(s)
	if _, err := r.config.Transport.Store(ctx); err != nil {
		r.sessions.wait(s, messages)
		r.config.Log.Warn("facts wait in memory", "reason", err.Error())
		return fmt.Errorf("%w: %w", ErrInMemory, err), nil
	}
	return nil, r.sessions.confirm(s)
}

// events returns the checked events of a fact, with their identities.
func (r *Recorder) events(s *observe.Session, f *observe.Fact) []*schema.Event {
	ids := f.IDs
	ids.Tenant = r.config.Tenant
	list, err := r.fit(f, ids)
	if err != nil {
		r.refuse(f.EventType(), err)
		return nil
	}
	for i, e := range list {
		s.Sequence++
		sequence := s.Sequence
		e.Sequence, e.Source, e.Time = &sequence, r.source, f.At
		parts := append([]string{r.config.Tenant, s.ID, s.Epoch, string(f.EventType())}, f.Name...)
		if i < len(list)-1 {
			parts = append(parts, "redaction", e.Subject)
		}
		e.ID = uuid.NewSHA1(namespace, []byte(strings.Join(parts, "\x00"))).String()
	}
	return list
}

// fit returns the events of a fact with its text, if an event holds it. A larger text is stored beside its
// fact, or left out.
func (r *Recorder) fit(f *observe.Fact, ids schema.Correlation) ([]*schema.Event, error) {
	list, err := r.prepare(f.Fact, ids)
	if f.Reduced != nil {
		if err == nil {
			return list, nil
		}
		list, err = r.prepare(f.Reduced, ids)
	}
	if err != nil || f.Large == nil {
		return list, err
	}
	unnamed := f.Unnamed()
	if r.texts.store(unnamed.ContentDigest, string(f.Large)) {
		return list, nil
	}
	return r.prepare(unnamed, ids)
}

func (r *Recorder) prepare(fact schema.Fact, ids schema.Correlation) ([]*schema.Event, error) {
	return producer.Prepare(context.Background(), r.client, fact, ids)
}

// lossFact records the exchanges that found no room.
func lossFact(lost int64, at time.Time, facts []observe.Fact) observe.Fact {
	fact := &schema.FactsDropped{
		DropID: "capture:" + uuid.NewString(), Count: &lost,
		Reason: "exchanges were dropped because the memory for waiting exchanges was full",
	}
	f := observe.Fact{Fact: fact, Name: []string{fact.DropID}, At: at}
	if len(facts) > 0 {
		f.IDs = schema.Correlation{Agent: facts[0].IDs.Agent, RuntimeID: facts[0].IDs.RuntimeID, SessionID: facts[0].IDs.SessionID}
	}
	return f
}

// remember keeps the last window for [Recorder.Last].
func (r *Recorder) remember(session string, facts []observe.Fact) {
	for i := range facts {
		if u, ok := facts[i].Fact.(*schema.UsageRecorded); ok && len(u.Layers) > 0 {
			r.last.Store(&Window{Session: session, Call: u.CallID, Model: u.Model, Layers: u.Layers, Usage: u.Usage})
		}
	}
}
