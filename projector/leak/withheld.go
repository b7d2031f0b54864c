package leak

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// Values recognises the values that redactions withhold, by tenant. Values holds their fingerprints
// and never a value. The first redaction in force of a value names the policy. Reading is safe for
// concurrent use. Learn, Revoke and Apply are not.
type Values struct {
	Keys    Keys
	tenants map[string]*tenantValues
	loaded  []privacy.Withheld // values that were in force at the load
	since   []Change           // changes from batches of this stream since the load
	revoked map[redaction]bool // redactions that were revoked since the load
}

// Keys are the fingerprinters of the tenants' keys, by tenant and key id.
type Keys map[string]map[string]fingerprint.Hasher

// A redaction is the id of a redaction of a tenant.
type redaction struct{ tenant, id string }

func redactionOf(value privacy.Withheld) redaction {
	return redaction{schema.TenantOf(value.Tenant), value.RedactionID}
}

// tenantValues are the values that one tenant withholds.
type tenantValues struct {
	inForce  map[schema.Fingerprint][]privacy.Withheld // the redactions of a value, in order
	entries  map[string]*fingerprints                  // by key id
	shortest int                                       // bytes of the shortest recognised value
}

// fingerprints are the fingerprints of one key, in the scanner's order.
type fingerprints struct {
	scanner *fingerprint.Scanner
	list    []schema.Fingerprint
}

// NewValues returns Values without fingerprints.
func NewValues(keys Keys) *Values {
	return &Values{Keys: keys, tenants: make(map[string]*tenantValues), revoked: make(map[redaction]bool)}
}

// Load adds the values that are in force when the ledger is read.
func (w *Values) Load(values []privacy.Withheld) {
	w.loaded = append(w.loaded, values...)
	for _, value := range values {
		w.Learn(value)
	}
}

// Learn adds a value that a redaction withholds. A fingerprint with a missing key, or one that
// cannot be read, recognises nothing.
func (w *Values) Learn(value privacy.Withheld) {
	fp := value.Fingerprint
	f, ok := w.Keys[schema.TenantOf(value.Tenant)][fp.KeyID]
	if !ok {
		return
	}
	tenant := w.tenants[schema.TenantOf(value.Tenant)]
	if tenant == nil {
		tenant = &tenantValues{inForce: make(map[schema.Fingerprint][]privacy.Withheld), entries: make(map[string]*fingerprints), shortest: math.MaxInt}
		w.tenants[schema.TenantOf(value.Tenant)] = tenant
	}
	list, known := tenant.inForce[fp]
	if !slices.ContainsFunc(list, func(v privacy.Withheld) bool { return v.RedactionID == value.RedactionID }) {
		tenant.inForce[fp] = append(list, value)
	}
	if known {
		return
	}
	e := tenant.entries[fp.KeyID]
	if e == nil {
		scanner, _ := f.Scanner(nil) // no fingerprint is read, so there is no error
		e = &fingerprints{scanner: scanner}
		tenant.entries[fp.KeyID] = e
	}
	if e.scanner.Add(fp) == nil {
		e.list = append(e.list, fp)
		tenant.shortest = min(tenant.shortest, int(fp.Length))
	}
}

// Revoke takes back a redaction of a tenant. Its values stay withheld as long as another redaction
// is in force.
func (w *Values) Revoke(tenant, redactionID string) {
	of := redaction{schema.TenantOf(tenant), redactionID}
	w.revoked[of] = true
	values := w.tenants[of.tenant]
	if values == nil {
		return
	}
	for fp, list := range values.inForce {
		values.inForce[fp] = slices.DeleteFunc(list, func(v privacy.Withheld) bool { return v.RedactionID == redactionID })
	}
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

// Apply makes a change of this stream. See AsOf.
func (w *Values) Apply(c Change) {
	w.since = append(w.since, c)
	if c.Revokes {
		w.Revoke(c.Value.Tenant, c.Value.RedactionID)
	} else {
		w.Learn(c.Value)
	}
}

// AsOf returns w without the changes after a sequence. The result may be w itself.
func (w *Values) AsOf(sequence uint64) *Values {
	later := func(c Change) bool { return c.Sequence > sequence }
	if !slices.ContainsFunc(w.since, later) {
		return w
	}
	was := NewValues(w.Keys)
	was.Load(w.loaded)
	for _, c := range w.since {
		if !later(c) {
			was.Apply(c)
		}
	}
	return was
}

// inForceBeside reports whether the redaction of a value is in force, for a later part of the
// stream that has made the changes of fresh.
func (w *Values) inForceBeside(fresh *Values, value privacy.Withheld) bool {
	of := redactionOf(value)
	tenant := w.tenants[of.tenant]
	return tenant != nil && !fresh.revoked[of] &&
		slices.ContainsFunc(tenant.inForce[value.Fingerprint], func(v privacy.Withheld) bool { return v.RedactionID == of.id })
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
type Set []setValues

// setValues are the values of a tenant without the redactions that were revoked since.
type setValues struct {
	*tenantValues
	revoked map[redaction]bool
}

// first returns the first redaction in force of a value, and whether there is one.
func (v setValues) first(fp schema.Fingerprint) (privacy.Withheld, bool) {
	for _, value := range v.inForce[fp] {
		if len(v.revoked) == 0 || !v.revoked[redactionOf(value)] {
			return value, true
		}
	}
	return privacy.Withheld{}, false
}

// Of appends the values of the tenants. Without tenants it appends the values of all tenants,
// because the message may belong to any of them.
func (w *Values) Of(list Set, tenants []string) Set { return w.without(nil, list, tenants) }

// without is Of without redactions that were revoked since.
func (w *Values) without(revoked map[redaction]bool, list Set, tenants []string) Set {
	if len(tenants) == 0 {
		for _, each := range w.tenants {
			list = append(list, setValues{each, revoked})
		}
		return list
	}
	for _, name := range tenants {
		if each := w.tenants[name]; each != nil {
			list = append(list, setValues{each, revoked})
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
			for _, m := range e.scanner.Scan(b) {
				if _, ok := values.first(e.list[m.Fingerprint]); ok {
					return true
				}
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
				value, ok := values.first(e.list[m.Fingerprint])
				if !ok {
					continue
				}
				at := span{start: t.origin(m.Start), end: t.origin(m.End), Value: value}
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
