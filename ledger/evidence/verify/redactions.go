package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// redactions holds the withheld items and the fingerprints of withheld values.
type redactions struct {
	found    *findings
	facts    int64
	withheld map[uint64]int64  // items that may have no content, with the line of their redaction
	targets  map[uint64]string // of withheld items, the last redaction
	content  map[uint64]int64  // items with content, with their last line
	prints   []redactedValue
	bare     int64 // redactions without a fingerprint
	revoked  int64 // redactions that the operator took back
}

// redactedValue is the fingerprint of a value that a redaction withholds.
type redactedValue struct {
	schema.Fingerprint
	redaction string
	line      int64
}

// leavesNothing reports whether a state allows no inline content. Masked and summarised items have
// a text in place of the value.
func leavesNothing(s schema.RedactionState) bool {
	return s == schema.RedactionRemoved || s == schema.RedactionPolicyBlocked || s == schema.RedactionEncryptedRef
}

func (r *redactions) apply(e *schema.Event, f *schema.RedactionApplied, line int64) {
	r.facts++
	if leavesNothing(f.RedactionState) {
		item := hashOf(schema.TenantOf(e.Tenant), e.SessionID, f.TargetRef.ID())
		r.withheld[item], r.targets[item] = line, f.RedactionID
	}
	if len(f.Fingerprints) == 0 {
		r.bare++
	}
	for _, p := range f.Fingerprints {
		r.prints = append(r.prints, redactedValue{p, f.RedactionID, line})
	}
}

// revoke drops the values of a redaction that the operator took back: later records may have them.
// Records come in the order of the log, so a later redaction of the same id counts again.
func (r *redactions) revoke(f *schema.RedactionRevoked) {
	r.revoked++
	r.prints = slices.DeleteFunc(r.prints, func(p redactedValue) bool { return p.redaction == f.RedactionID })
	for key, id := range r.targets {
		if id == f.RedactionID {
			delete(r.targets, key)
			delete(r.withheld, key)
		}
	}
}

func (r *redactions) item(e *schema.Event, i *schema.Item, line int64) {
	if i.Content == nil {
		return
	}
	if leavesNothing(i.RedactionState) {
		r.found.faultf(Redaction, pack.EventsFile, line, "the item %s is %s and has content", quote(i.ItemID), i.RedactionState)
	}
	r.content[hashOf(schema.TenantOf(e.Tenant), e.SessionID, i.ItemID)] = line
}

// items reports content of redacted items, before and after the redaction.
func (r *redactions) items() {
	for _, key := range slices.Sorted(maps.Keys(r.withheld)) {
		line, has := r.content[key]
		switch redacted := r.withheld[key]; {
		case !has:
		case line < redacted:
			r.found.faultf(Redaction, pack.EventsFile, line, "contains the content of an item that was redacted later, at line %d", redacted)
		default:
			r.found.faultf(Redaction, pack.EventsFile, line, "contains the content of an item that was redacted at line %d", redacted)
		}
	}
}

// keyIDs lists the keys of the fingerprints.
func (r *redactions) keyIDs() []string {
	ids := make(map[string]struct{})
	for i := range r.prints {
		ids[r.prints[i].KeyID] = struct{}{}
	}
	return slices.Sorted(maps.Keys(ids))
}

// checkRedaction searches every byte of the pack for redacted values.
func (v *verifier) checkRedaction() error {
	r := &v.facts.redacted
	r.items()
	if v.facts.lost {
		v.found.note(Redaction, "some records could not be read, so further redactions can exist")
	}
	if r.revoked > 0 {
		v.found.note(Redaction, "%d redactions were revoked; later records may contain their values", r.revoked)
	}
	if r.bare > 0 {
		v.found.note(Redaction, "%d redactions have no fingerprint, so their values cannot be searched for", r.bare)
	}
	scanners, lacking, err := v.scanners()
	if err != nil {
		return err
	}
	switch {
	case v.totals.withheld > 0 && r.facts == 0:
		v.found.settle(Redaction, NotChecked, "the records are withheld, and the redactions with them")
	case r.facts == 0:
		v.found.settle(Redaction, Passed, "nothing was redacted")
	case len(lacking) > 0:
		v.found.settle(Redaction, NotChecked, "redactions: %d, no content of redacted items; to search for the values, give the tenant's keys: %s", r.facts, strings.Join(lacking, ", "))
	default:
		v.found.settle(Redaction, Passed, "redactions: %d, no redacted value found", r.facts)
	}
	if len(scanners) == 0 {
		return nil
	}
	return v.scanFiles(scanners)
}

// scanner finds the values of the fingerprints of one key.
type scanner struct {
	*fingerprint.Scanner
	prints []redactedValue // by index of a match
}

// scanners returns a scanner for each tenant key, and the ids of the missing keys.
func (v *verifier) scanners() (list []scanner, lacking []string, err error) {
	r := &v.facts.redacted
	lacking = r.keyIDs()
	for _, key := range v.options.TenantKeys {
		if !slices.Contains(lacking, key.ID) {
			continue
		}
		lacking = slices.DeleteFunc(lacking, func(id string) bool { return id == key.ID })
		printer, err := fingerprint.New(key)
		if err != nil {
			return nil, nil, err
		}
		s := scanner{}
		if s.Scanner, err = printer.Scanner(nil); err != nil {
			return nil, nil, err
		}
		for _, p := range r.prints {
			if p.KeyID != key.ID {
				continue
			}
			if err := s.Add(p.Fingerprint); err != nil {
				v.found.faultf(Redaction, pack.EventsFile, p.line, "has an unreadable fingerprint")
				continue
			}
			s.prints = append(s.prints, p)
		}
		list = append(list, s)
	}
	return list, lacking, nil
}
