package leak

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Find finds messages that hold a value which an earlier redaction withholds. The redaction is
// in the ledger or among the messages, which are in the order of the stream. A found message
// becomes a quarantined event with the value masked, without other traces of the value. The
// other events are unchanged. Find changes neither w nor the messages.
//
// A redaction applies to later messages only. A re-check finds its values in earlier messages
// and in the redaction.
func (w *Values) Find(all []decode.Event) []decode.Event {
	return w.FindAfter(NewValues(w.Keys), all, func([]decode.Event, decode.Event) bool { return true })
}

// FindAfter is Find for a part of a batch. fresh holds the values that redactions in earlier
// parts withhold. FindAfter adds the values of new redactions that count. FindAfter calls counts
// for each redaction and revocation, with the events before it. A revocation changes nothing here:
// the caller loads the values again before the next part.
func (w *Values) FindAfter(fresh *Values, all []decode.Event, counts func(earlier []decode.Event, e decode.Event) bool) []decode.Event {
	events := make([]decode.Event, len(all))
	var s finder
	for i, e := range all {
		events[i] = e
		if len(w.tenants)+len(fresh.tenants) > 0 {
			s.lookFor(&e, w, fresh)
			if s.maybeIn(e.Message) {
				if masked, hit := maskedOf(e, s.set); hit {
					events[i] = masked
					continue
				}
			}
		}
		if len(e.Violations) > 0 {
			continue
		}
		if refused, harmful := w.harmful(e); harmful {
			events[i] = refused
			continue
		}
		changes := ChangesOf(e.Position.StreamSeq, e.Envelope, e.Fact)
		if len(changes) == 0 || !counts(events[:i], e) {
			continue
		}
		for _, c := range changes {
			if !c.Revokes && !w.knows(c.Value) {
				fresh.Learn(c.Value)
			}
		}
	}
	return events
}

// maskedOf is masked for any event. A revocation names a redaction and its session. Older rules let a
// value into these two ids, and the revocation must not be refused for them.
func maskedOf(e decode.Event, set Set) (decode.Event, bool) {
	if _, ok := e.Fact.(*schema.RedactionRevoked); ok && len(e.Violations) == 0 {
		rest := e
		rest.Message = withoutIDs(e.Message)
		if _, hit := masked(rest, set); !hit {
			return e, false
		}
	}
	return masked(e, set)
}

// withoutIDs returns a revocation without the ids of its redaction and session.
func withoutIDs(m *streamio.Message) *streamio.Message {
	rest := *m
	rest.Subject, rest.Header = "", maps.Clone(m.Header)
	for _, name := range []string{"ce-subject", "ce-sessionid", "ce-partitionkey"} {
		delete(rest.Header, name)
	}
	members := make(map[string]jsontext.Value)
	if json.Unmarshal(m.Data, &members) != nil {
		return m
	}
	delete(members, "redaction_id")
	data, err := json.Marshal(members)
	if err != nil {
		return m
	}
	rest.Data = data
	return &rest
}

// harmful reports whether a redaction would turn against its tenant, and returns it refused. One of
// a word of the contract would stop every event. One that holds its value, for example in its reason
// or an id, would itself leak the value.
func (w *Values) harmful(e decode.Event) (decode.Event, bool) {
	values := Of(e.Envelope, e.Fact)
	if len(values) == 0 || e.Rules < ledger.DoorRules {
		return e, false
	}
	own := NewValues(w.Keys)
	for _, value := range values {
		own.Learn(value)
	}
	set := own.Of(nil, nil)
	if set.inWords() {
		e.Violations = schema.Violations{{
			Code: schema.CodeRedactedWord, Pointer: "/data/fingerprints", Found: "the fingerprint of a word of the contract, which every event holds",
			Fix: "withhold the secret itself, not a name or a word of the contract",
		}}
		return e, true
	}
	refused, leaks := masked(e, set)
	if leaks {
		v := refused.Violations[0]
		v.Found, v.Fix = "the value that this redaction withholds", "send the redaction under a new id, without the value in its reason, refs and ids"
	}
	return refused, leaks
}

// A finder quickly recognises most messages without a withheld value. A finder uses its buffers
// again.
type finder struct {
	set     Set
	tenants []string
	words   []byte
}

// lookFor sets the values that are withheld from a message.
func (s *finder) lookFor(e *decode.Event, w, fresh *Values) {
	s.tenants = appendTenants(s.tenants[:0], e)
	s.set = fresh.Of(w.Of(s.set[:0], s.tenants), s.tenants)
}

// appendTenants appends the possible tenants of a message. Permissions apply to the tenant of
// the subject. By [ledger.EnvelopeRules] the tenant in the event is possible, too.
func appendTenants(list []string, e *decode.Event) []string {
	if e.Rules >= ledger.SubjectRules {
		if tenant := e.SubjectTenant(); tenant != "" {
			list = append(list, tenant)
		}
		return list
	}
	if s, err := schema.ParseSubject(e.Subject); err == nil {
		list = append(list, s.Tenant)
	}
	if e.Envelope != nil && !slices.Contains(list, schema.TenantOf(e.Envelope.Tenant)) {
		list = append(list, schema.TenantOf(e.Envelope.Tenant))
	}
	return list
}

// maybeIn reports whether a message may hold a withheld value. maybeIn searches the payload,
// and all long enough words of subject and headers together. A match may cross two words.
func (s *finder) maybeIn(m *streamio.Message) bool {
	if len(s.set) == 0 {
		return false
	}
	if s.set.standIn(m.Data) {
		return true
	}
	shortest := s.set.shortest()
	s.words = s.words[:0]
	add := func(word string) {
		if len(word) >= shortest {
			s.words = append(append(s.words, word...), 0)
		}
	}
	add(m.Subject)
	for name, values := range m.Header {
		if 2*len(name) >= shortest { // some letters have more bytes in lower case
			add(name)
			if lower := strings.ToLower(name); lower != name {
				add(lower)
			}
		}
		for _, value := range values {
			add(value)
		}
	}
	return s.set.standInWord(s.words)
}
