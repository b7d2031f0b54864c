package leak

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// Values recognises the values that redactions withhold, by tenant. Values holds their fingerprints
// and never a value. The first redaction of a value names the policy. Reading is safe for
// concurrent use. Learn and Apply are not.
type Values struct {
	Keys    Keys
	tenants map[string]*tenantValues
	since   []Change // from batches of this stream since the load
}

// Keys are the fingerprinters of the tenants' keys, by tenant and key id.
type Keys map[string]map[string]fingerprint.Hasher

// tenantValues are the values that one tenant withholds.
type tenantValues struct {
	known    map[schema.Fingerprint]bool
	entries  map[string]*fingerprints // by key id
	shortest int                      // bytes of the shortest recognised value
}

// fingerprints are the fingerprints of one key, in the scanner's order.
type fingerprints struct {
	scanner *fingerprint.Scanner
	list    []privacy.Withheld
}

// NewValues returns Values without fingerprints.
func NewValues(keys Keys) *Values {
	return &Values{Keys: keys, tenants: make(map[string]*tenantValues)}
}

// Learn adds a fingerprint, and reports whether it is new. A fingerprint with a missing key, or
// one that cannot be read, recognises nothing.
func (w *Values) Learn(value privacy.Withheld) bool {
	fp := value.Fingerprint
	f, ok := w.Keys[schema.TenantOf(value.Tenant)][fp.KeyID]
	if !ok {
		return false
	}
	tenant := w.tenants[schema.TenantOf(value.Tenant)]
	if tenant == nil {
		tenant = &tenantValues{known: make(map[schema.Fingerprint]bool), entries: make(map[string]*fingerprints), shortest: math.MaxInt}
		w.tenants[schema.TenantOf(value.Tenant)] = tenant
	}
	if tenant.known[fp] {
		return false
	}
	tenant.known[fp] = true
	e := tenant.entries[fp.KeyID]
	if e == nil {
		scanner, _ := f.Scanner(nil) // no fingerprint is read, so there is no error
		e = &fingerprints{scanner: scanner}
		tenant.entries[fp.KeyID] = e
	}
	if e.scanner.Add(fp) == nil {
		e.list = append(e.list, value)
		tenant.shortest = min(tenant.shortest, int(fp.Length))
	}
	return true
}

// A Change is a value that a redaction withholds, or the revocation of a redaction.
type Change struct {
	Sequence uint64
	Value    privacy.Withheld // of a revocation, only tenant and redaction
	Revokes  bool
}

// ChangesOf returns the changes of an event. Most events have none.
func ChangesOf(sequence uint64, e *schema.Event, fact schema.Fact) []Change {
	if r, ok := fact.(*schema.RedactionRevoked); ok {
		return []Change{{Sequence: sequence, Value: privacy.Withheld{Tenant: e.Tenant, RedactionID: r.RedactionID}, Revokes: true}}
	}
	var list []Change
	for _, value := range Of(e, fact) {
		list = append(list, Change{Sequence: sequence, Value: value})
	}
	return list
}

// Redaction returns the redaction of the change.
func (c Change) Redaction() privacy.Redaction {
	return privacy.Redaction{Tenant: schema.TenantOf(c.Value.Tenant), ID: c.Value.RedactionID}
}

// UntilRevocation returns the number of events up to and including the first valid revocation.
func UntilRevocation(events []decode.Event) int {
	for i, e := range events {
		if _, ok := e.Fact.(*schema.RedactionRevoked); ok && len(e.Violations) == 0 {
			return i + 1
		}
	}
	return len(events)
}

// Remaining returns the changes without the values of redactions that a later one of them revokes.
func Remaining(changes []Change) []Change {
	left := make([]Change, 0, len(changes))
	for _, c := range changes {
		if c.Revokes {
			left = slices.DeleteFunc(left, func(l Change) bool { return !l.Revokes && l.Redaction() == c.Redaction() })
		}
		left = append(left, c)
	}
	return left
}

// LearnAll adds the values of changes that are no revocations.
func (w *Values) LearnAll(changes []Change) {
	for _, c := range changes {
		if !c.Revokes {
			w.Learn(c.Value)
		}
	}
}

// Apply makes a change of this stream. See AsOf. The values of a revoked redaction remain until the
// next load, because w does not know whether another redaction withholds them.
func (w *Values) Apply(c Change) {
	if c.Revokes || w.Learn(c.Value) {
		w.since = append(w.since, c)
	}
}

// AsOf returns w without the changes after a sequence. The result may be w itself. After a later
// revocation it is nil, because w lacks values that were in force.
func (w *Values) AsOf(sequence uint64) *Values {
	if slices.ContainsFunc(w.since, func(c Change) bool { return c.Revokes && c.Sequence > sequence }) {
		return nil
	}
	later := make(map[tenantFingerprint]bool)
	earlier := slices.DeleteFunc(w.since, func(l Change) bool {
		if l.Sequence > sequence {
			later[tenantFingerprint{schema.TenantOf(l.Value.Tenant), l.Value.Fingerprint}] = true
			return true
		}
		return false
	})
	if len(later) == 0 {
		return w
	}
	was := NewValues(w.Keys)
	was.since = earlier
	for tenant, values := range w.tenants {
		for _, e := range values.entries {
			for _, value := range e.list {
				if !later[tenantFingerprint{tenant, value.Fingerprint}] {
					was.Learn(value)
				}
			}
		}
	}
	return was
}

// tenantFingerprint is a fingerprint of one tenant.
type tenantFingerprint struct {
	tenant      string
	fingerprint schema.Fingerprint
}

// knows reports whether a fingerprint was added.
func (w *Values) knows(value privacy.Withheld) bool {
	tenant := w.tenants[schema.TenantOf(value.Tenant)]
	return tenant != nil && tenant.known[value.Fingerprint]
}

// Of returns the fingerprints of a redaction, and none for other events.
func Of(e *schema.Event, fact schema.Fact) []privacy.Withheld {
	r, ok := fact.(*schema.RedactionApplied)
	if !ok {
		return nil
	}
	list := make([]privacy.Withheld, len(r.Fingerprints))
	for i, fp := range r.Fingerprints {
		list[i] = privacy.Withheld{Tenant: e.Tenant, RedactionID: r.RedactionID, Fingerprint: fp}
		if refs := schema.RefIDs(r.PolicyRefs); len(refs) > 0 {
			list[i].PolicyRef = refs[0]
		}
	}
	return list
}

// A span is a stretch of bytes with a withheld value.
type span struct {
	start, end int
	Value      privacy.Withheld
}

// A Set holds the values that are withheld from one message.
type Set []*tenantValues

// Of appends the values of the tenants. Without tenants it appends the values of all tenants,
// because the message may belong to any of them.
func (w *Values) Of(list Set, tenants []string) Set {
	if len(tenants) == 0 {
		return slices.AppendSeq(list, maps.Values(w.tenants))
	}
	for _, name := range tenants {
		if each := w.tenants[name]; each != nil {
			list = append(list, each)
		}
	}
	return list
}

// shortest returns the length of the shortest value, in bytes.
func (w Set) shortest() int {
	least := math.MaxInt
	for _, each := range w {
		least = min(least, each.shortest)
	}
	return least
}

// InPayload finds the withheld values in a payload, in order.
func (w Set) InPayload(payload []byte) []span {
	var found []span
	eachPayload(payload, func(t *text, whole *span) { found = w.scan(found, t, whole) })
	slices.SortFunc(found, span.compare)
	return found
}

// InWord finds the withheld values in a subject, or in the name or value of a header, in order.
// InWord skips words that are shorter than every value, because decoding never makes a word longer.
func (w Set) InWord(word []byte) []span {
	if len(word) < w.shortest() {
		return nil
	}
	var found []span
	eachWord(word, func(t *text, whole *span) { found = w.scan(found, t, whole) })
	slices.SortFunc(found, span.compare)
	return found
}

// standIn reports whether a payload holds a withheld value. A payload without escapes and
// base64 is only scanned.
func (w Set) standIn(payload []byte) bool {
	if bytes.IndexByte(payload, backslash.mark) >= 0 || bytes.Contains(payload, binaryMember) {
		return len(w.InPayload(payload)) > 0
	}
	return w.standBare(payload)
}

// standInWord is standIn for a word.
func (w Set) standInWord(word []byte) bool {
	if bytes.IndexByte(word, backslash.mark) >= 0 || bytes.IndexByte(word, percent.mark) >= 0 {
		return len(w.InWord(word)) > 0
	}
	return w.standBare(word)
}

func (w Set) standBare(b []byte) bool {
	for _, values := range w {
		for _, e := range values.entries {
			if len(e.scanner.Scan(b)) > 0 {
				return true
			}
		}
	}
	return false
}

// inWords reports whether a withheld value stands in the words of the contract.
func (w Set) inWords() bool {
	for _, values := range w {
		for _, e := range values.entries {
			if e.scanner.InWords() {
				return true
			}
		}
	}
	return false
}

// scan appends the values in t. A value has its place in the received bytes, or whole if that
// is not nil.
func (w Set) scan(found []span, t *text, whole *span) []span {
	for _, values := range w {
		for _, e := range values.entries {
			for _, m := range e.scanner.Scan(t.bytes) {
				at := span{start: t.origin(m.Start), end: t.origin(m.End), Value: e.list[m.Fingerprint]}
				if whole != nil {
					at.start, at.end = whole.start, whole.end
				}
				found = append(found, at)
			}
		}
	}
	return found
}

func (s span) compare(o span) int {
	return cmp.Or(s.start-o.start, o.end-s.end, strings.Compare(s.Value.PolicyRef, o.Value.PolicyRef), strings.Compare(s.Value.RedactionID, o.Value.RedactionID))
}
