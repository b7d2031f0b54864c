package leak

import (
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Find goes through messages in the order of the stream and finds those that
// hold a value which an earlier redaction withholds, of the ledger or of the
// messages themselves. They come back quarantined, with the value masked and without
// what could give it away; the rest as they were. It changes neither w nor the
// messages: the same arguments give the same result.
//
// A redaction counts from its own place on. What is before it, and it itself, is
// not looked at for its sake: that is the re-check's work.
func (w *Values) Find(all []decode.Event) []decode.Event {
	return w.FindAfter(NewValues(w.Keys), all, func([]decode.Event, decode.Event) bool { return true })
}

// FindAfter is Find for messages that come after others of the same batch, of
// which fresh has learnt what they withhold. It learns on, from the redactions
// that count: that is asked of each, with what came before it.
func (w *Values) FindAfter(fresh *Values, all []decode.Event, counts func(earlier []decode.Event, e decode.Event) bool) []decode.Event {
	events := make([]decode.Event, len(all))
	var s finder
	for i, e := range all {
		events[i] = e
		if len(w.tenants)+len(fresh.tenants) > 0 {
			s.lookFor(&e, w, fresh)
			if s.maybeIn(e.Message) {
				if masked, hit := masked(e, s.set); hit {
					events[i] = masked
					continue
				}
			}
		}
		if len(e.Violations) > 0 {
			continue
		}
		values := Of(e.Envelope, e.Fact)
		if len(values) == 0 || !counts(events[:i], e) {
			continue
		}
		for _, value := range values {
			if !w.knows(value) {
				fresh.Learn(value)
			}
		}
	}
	return events
}

// A finder tells quickly of most messages that nothing withheld stands in them, in
// room that it uses again.
type finder struct {
	set     Set
	tenants []string
	words   []byte
}

// lookFor makes the finder look for what is withheld from a message.
func (s *finder) lookFor(e *decode.Event, w, fresh *Values) {
	s.tenants = appendTenants(s.tenants[:0], e)
	s.set = fresh.Of(w.Of(s.set[:0], s.tenants), s.tenants)
}

// appendTenants names whose event a message may be: the subject's tenant, which
// permissions go by. By [ledger.EnvelopeRules] it may also be the tenant's that the
// event names.
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

// maybeIn reports whether a withheld value stands in a message, or across the
// words next to its payload: those that are long enough for one are gone through
// together.
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
		if 2*len(name) >= shortest { // some letters are longer as small ones
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
