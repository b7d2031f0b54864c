package producer

import (
	"context"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// injectedLayer is the default layer of injected content.
const injectedLayer = "injected"

// InjectHead attaches content to the newest user message of the head, under a kind such as
// "reminder" or "clock". InjectHead records the content and the content that it replaces
// (seed 004, conversation-head injection). InjectHead returns the window and the head after
// the injection: continue with both. With an error they are unchanged, and nothing is
// recorded.
//
// A caller adds a new user message to the head with [window.Head.UserMessage]. At a pass,
// injected content moves automatically, see [window.PlanElision]. Content needs an id and a
// text. Kind, role and layer have defaults. Errors are errors of [window.Head.Inject] and
// [Turn.Add], and an [*InvalidError] for a persona. [Call.SetPersona] sets a persona.
func (c *Call) InjectHead(ctx context.Context, items []window.Item, head window.Head, kind string, content Content) ([]window.Item, window.Head, error) {
	if kind == window.PersonaKind {
		return items, head, invalid("injection kind", "must not be the persona's; use SetPersona")
	}
	a, err := c.arriveAtHead(content, window.KindFixed)
	if err != nil {
		return items, head, err
	}
	next, change, err := head.Inject(a.injection(kind))
	if err != nil {
		return items, head, c.hide(err)
	}
	if err := c.turn.enter(ctx, []arrival{a}, headFacts(c.id, "", change)...); err != nil {
		return items, head, err
	}
	return next.Place(items, change, a.item), next, nil
}

// SetPersona is InjectHead for the persona: its name, and content that describes its focus.
// If another persona was current, a cue is recorded and placed before the content. The cue
// is a short system message that stays in the conversation, because its tone anchors the
// model (seed 004, persona management).
//
// The cue's id and text have defaults that are derived from the persona. The same persona
// again is only refreshed. A call with an assembled window keeps its persona: then the
// error is an [*InvalidError].
func (c *Call) SetPersona(ctx context.Context, items []window.Item, head window.Head, persona string, content, cue Content) ([]window.Item, window.Head, error) {
	if c.assembly != "" {
		return items, head, invalid("persona", "must not change once the call's window is assembled: set it in the next call")
	}
	a, err := c.arriveAtHead(content, window.KindFixed)
	if err != nil {
		return items, head, err
	}
	if cue.ID == "" {
		cue.ID = content.ID + ":cue"
	}
	if cue.Text == "" {
		cue.Text = "persona changed to " + persona
	}
	message, err := c.arriveAtHead(cue, window.KindMessage)
	if err != nil {
		return items, head, err
	}
	in := a.injection(window.PersonaKind)
	in.Persona = persona
	next, change, err := head.SetPersona(in, window.Cue{
		Ref: message.item.ID, Tokens: message.item.Tokens, Digest: message.item.Digest, Redaction: message.item.Redaction,
	})
	if err != nil {
		return items, head, c.hide(err)
	}
	arrivals := []arrival{message, a}
	if change.Cue == nil {
		arrivals = arrivals[1:]
	}
	if err := c.turn.enter(ctx, arrivals, headFacts(c.id, "", change)...); err != nil {
		return items, head, err
	}
	return next.Place(items, change, a.item, message.item), next, nil
}

func (c *Call) arriveAtHead(content Content, kind window.Kind) (arrival, error) {
	content.Kind = kind
	content.CallID = c.id
	if content.Role == "" {
		content.Role = window.RoleSystem
	}
	if content.Layer == "" {
		content.Layer = injectedLayer
	}
	if content.ContextKind == "" {
		content.ContextKind = string(schema.KindSystemReminder)
	}
	return c.turn.run.arrive(c.turn.model.Name, content)
}

// injection returns the arrival in the head's form.
func (a arrival) injection(kind string) window.Injection {
	return window.Injection{
		Kind: kind, Ref: a.item.ID, Tokens: a.item.Tokens, Digest: a.item.Digest, Redaction: a.item.Redaction, Binding: a.fact().BindingID,
	}
}

// headFacts returns the facts of a transition of the head. An injection's id contains the
// id of its user message. A moved item is therefore a new injection each time, and a
// removal names the injection that was applied.
func headFacts(call, pass string, change window.HeadChange) []schema.Fact {
	var facts []schema.Fact
	for _, r := range change.Removed {
		facts = append(facts, &schema.InjectionRemoved{
			Injection: headInjection(call, r.Injection), ReplacedBy: schema.Ref(r.ReplacedBy), RemovedByPass: pass,
		})
	}
	for _, in := range change.Injected {
		f := &schema.InjectionApplied{Injection: headInjection(call, in)}
		if change.Cue != nil && in.Kind == window.PersonaKind {
			facts = append(facts, cueFact(call, in, *change.Cue))
			f.PersonaFrom, f.CueItemRef = change.Cue.From, schema.Ref(change.Cue.Ref)
		}
		facts = append(facts, f)
	}
	return facts
}

func headInjection(call string, in window.Injection) schema.Injection {
	return schema.Injection{
		InjectionID: "inject:" + in.AttachedTo + ":" + in.Ref, CallID: call, Target: facts.Target,
		InjectionPoint: schema.InjectUserMessageAppendix, InjectionKind: in.Kind, ItemRefs: schema.Refs(in.Ref),
		AttachedTo: schema.Ref(in.AttachedTo), Ephemeral: true, BindingID: in.Binding, PersonaTo: in.Persona, Tokens: new(int64(in.Tokens)),
		Digest: in.Digest, RedactionState: schema.RedactionState(in.Redaction),
	}
}

func cueFact(call string, in window.Injection, cue window.Cue) *schema.InjectionApplied {
	return &schema.InjectionApplied{Injection: schema.Injection{
		InjectionID: "inject:" + in.AttachedTo + ":" + cue.Ref, CallID: call, Target: facts.Target, InjectionPoint: schema.InjectMessageHistory,
		InjectionKind: "persona_cue", ItemRefs: schema.Refs(cue.Ref), AttachedTo: schema.Ref(in.AttachedTo),
		PersonaFrom: cue.From, PersonaTo: cue.To, CueItemRef: schema.Ref(cue.Ref), Tokens: new(int64(cue.Tokens)),
		Digest: cue.Digest, RedactionState: schema.RedactionState(cue.Redaction),
	}}
}
