package window

import "slices"

// Injection is a message that the harness attached to the newest user message: the time, a
// reminder, the persona.
type Injection struct {
	Kind       string // e.g. "persona", "clock"; at most one of a kind is current
	Ref        string // item id
	Tokens     int
	Digest     string // keyed digest of the content; empty is unknown
	Redaction  string // withheld part of the content, as in [Item]
	AttachedTo string // item id of the user message; filled in by Head
	Persona    string // the persona's name, for the kind PersonaKind
	Binding    string // id of the resource whose provider gave the content; may be empty
	// Superseded is true if a newer injection of the kind replaced this one, which waits
	// for the next elision pass (see UntilPass).
	Superseded bool
}

// PersonaKind is the injection kind that [Head.SetPersona] uses.
const PersonaKind = "persona"

// Removal is an injection that left the window.
type Removal struct {
	Injection  Injection
	Pass       string // elision pass that removed the injection; empty if it was replaced
	ReplacedBy string // ref of the replacing injection; may be empty
}

// Cue is the short system message that announces a new persona to the model. A Cue is an
// item of the conversation and stays when injections leave.
type Cue struct {
	Ref    string // item id
	From   string // previous persona
	To     string // new persona
	Tokens int

	Digest    string // keyed digest of the content; empty is unknown
	Redaction string // withheld part of the content, as in [Item]
}

// HeadChange is the result of one transition, in the order: removed, cue, injected.
type HeadChange struct {
	Removed  []Removal
	Cue      *Cue
	Injected []Injection
}

// ReplaceMode selects the handling of an injection when a newer one of its kind arrives.
type ReplaceMode string

// Seed 004 leaves both modes open. Their costs are opposite.
const (
	// AtOnce removes the older injection. The window never has two injections of one kind,
	// and the tokens after the older one are computed again (vector E07).
	AtOnce ReplaceMode = "at_once"
	// UntilPass keeps the older injection in its place until the next elision pass. No
	// token is computed again, and outdated injections are sent too (vector E08).
	UntilPass ReplaceMode = "until_pass"
)

// Head holds the content that is injected at the head of a conversation. Head is a value:
// each transition returns a new Head and its changes, and modifies nothing in place. The
// zero value is an empty head without a user message, in mode [AtOnce].
//
// Source: seed 004 (conversation-head injection, persona management).
type Head struct {
	mode     ReplaceMode
	user     string
	persona  string
	attached []Injection
}

// NewHead returns an empty head. An unknown mode means [AtOnce].
func NewHead(mode ReplaceMode) Head { return Head{mode: mode} }

// Attached returns the injections in the window, oldest first.
func (h Head) Attached() []Injection { return slices.Clone(h.attached) }

// Persona returns the current persona's name; empty before the first.
func (h Head) Persona() string { return h.persona }

// UserMessage makes the message the head of the conversation. Injections on an older
// message stay until they are replaced or a pass removes them.
func (h Head) UserMessage(id string) Head {
	h.user = id
	return h
}

// Inject attaches an injection to the newest user message and supersedes the current one of
// its kind. The error is an [*InvalidError] without a kind, a unique ref, or a user
// message.
func (h Head) Inject(in Injection) (Head, HeadChange, error) {
	if err := h.validate(in); err != nil {
		return h, HeadChange{}, err
	}
	in.AttachedTo, in.Superseded = h.user, false
	var change HeadChange
	var kept []Injection
	for _, old := range h.attached {
		switch {
		case old.Kind != in.Kind:
			kept = append(kept, old)
		case h.mode == UntilPass && old.AttachedTo != h.user:
			old.Superseded = true
			kept = append(kept, old)
		default:
			change.Removed = append(change.Removed, Removal{Injection: old, ReplacedBy: in.Ref})
		}
	}
	h.attached = append(kept, in)
	change.Injected = []Injection{in}
	return h, change, nil
}

// SetPersona injects the persona. If another persona was current, SetPersona also emits the
// cue, with From and To filled in. The same persona again is only refreshed. The cue needs
// a Ref when it is emitted.
func (h Head) SetPersona(in Injection, cue Cue) (Head, HeadChange, error) {
	in.Kind = PersonaKind
	if in.Persona == "" {
		return h, HeadChange{}, &InvalidError{Field: "injection.persona", Ref: in.Ref, Problem: "is empty"}
	}
	changed := h.persona != "" && h.persona != in.Persona
	if changed && cue.Ref == "" {
		return h, HeadChange{}, &InvalidError{Field: "cue.ref", Problem: "is empty, but the persona changes; give the cue a ref"}
	}
	next, change, err := h.Inject(in)
	if err != nil {
		return h, HeadChange{}, err
	}
	if changed {
		cue.From, cue.To = h.persona, in.Persona
		change.Cue = &cue
	}
	next.persona = in.Persona
	return next, change, nil
}

// Pass applies the next elision pass. Pass removes the injections on all user messages
// except the newest. Current injections return at the new head under the same ref.
func (h Head) Pass(id string) (Head, HeadChange) {
	var change HeadChange
	var kept []Injection
	for _, in := range h.attached {
		if in.AttachedTo == h.user {
			kept = append(kept, in)
			continue
		}
		change.Removed = append(change.Removed, Removal{Injection: in, Pass: id, ReplacedBy: h.current(in.Kind)})
		if !in.Superseded {
			in.AttachedTo = h.user
			change.Injected = append(change.Injected, in)
		}
	}
	h.attached = append(kept, change.Injected...)
	return h, change
}

// Place returns the items after a change of the head; h is the head after the change.
// Removed items are left out. Cue and injections follow the newest user message and the
// items that already follow it. If the list has no newest user message, they go to the end.
//
// Fresh are the items that are not in the list. An item that is in neither is not placed.
// The items themselves are shared.
func (h Head) Place(items []Item, change HeadChange, fresh ...Item) []Item {
	comes := make(map[string]Item, len(fresh))
	out := make([]Item, 0, len(items)+len(fresh))
	for _, it := range items {
		if change.removes(it.ID) {
			comes[it.ID] = it
			continue
		}
		out = append(out, it)
	}
	for _, it := range fresh {
		comes[it.ID] = it
	}
	var placed []Item
	for _, ref := range change.comes() {
		if it, ok := comes[ref]; ok {
			placed = append(placed, it)
		}
	}
	return slices.Insert(out, h.end(out), placed...)
}

// end returns the index after the newest user message and the items that belong to it.
func (h Head) end(items []Item) int {
	at := slices.IndexFunc(items, func(it Item) bool { return it.ID == h.user }) + 1
	if at == 0 {
		return len(items)
	}
	for at < len(items) && (h.attaches(items[at].ID) || items[at].Kind == KindMessage && Instructs(items[at].Role)) {
		at++
	}
	return at
}

func (h Head) attaches(ref string) bool {
	return slices.ContainsFunc(h.attached, func(in Injection) bool { return in.Ref == ref })
}

// current returns the ref of the newest injection of a kind, or "".
func (h Head) current(kind string) string {
	for _, in := range h.attached {
		if in.Kind == kind && !in.Superseded {
			return in.Ref
		}
	}
	return ""
}

func (c HeadChange) removes(ref string) bool {
	return slices.ContainsFunc(c.Removed, func(r Removal) bool { return r.Injection.Ref == ref })
}

// comes returns the refs that a change adds to the window, in order.
func (c HeadChange) comes() []string {
	var refs []string
	if c.Cue != nil {
		refs = append(refs, c.Cue.Ref)
	}
	for _, in := range c.Injected {
		refs = append(refs, in.Ref)
	}
	return refs
}

func (h Head) validate(in Injection) error {
	switch {
	case h.user == "":
		return &InvalidError{Field: "injection", Ref: in.Ref, Problem: "has no user message; call UserMessage first"}
	case in.Kind == "":
		return &InvalidError{Field: "injection.kind", Ref: in.Ref, Problem: "is empty"}
	case in.Ref == "":
		return &InvalidError{Field: "injection.ref", Problem: "is empty"}
	case in.Tokens < 0:
		return &InvalidError{Field: "injection.tokens", Ref: in.Ref, Problem: "is negative"}
	case slices.ContainsFunc(h.attached, func(a Injection) bool { return a.Ref == in.Ref }):
		return &InvalidError{Field: "injection.ref", Ref: in.Ref, Problem: "is already attached"}
	}
	return nil
}
