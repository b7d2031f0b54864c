package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// redactions holds what was withheld: items, and fingerprints of values.
type redactions struct {
	found    *findings
	facts    int64
	withheld map[uint64]int64 // items of which nothing may be left, with the line of their redaction
	content  map[uint64]int64 // items that came with content, with the last line
	prints   []redactedValue
	bare     int64 // redactions without a fingerprint
}

// redactedValue is the fingerprint of a value that a redaction withholds.
type redactedValue struct {
	schema.Fingerprint
	redaction string
	line      int64
}

// leavesNothing reports whether a state allows no inline content. What is masked
// or summarised has a text that stands for the value.
func leavesNothing(s schema.RedactionState) bool {
	return s == schema.RedactionRemoved || s == schema.RedactionPolicyBlocked || s == schema.RedactionEncryptedRef
}

func (r *redactions) apply(e *schema.Event, f *schema.RedactionApplied, line int64) {
	r.facts++
	if leavesNothing(f.RedactionState) {
		r.withheld[hashOf(schema.TenantOf(e.Tenant), e.SessionID, f.TargetRef.ID())] = line
	}
	if len(f.Fingerprints) == 0 {
		r.bare++
	}
	for _, p := range f.Fingerprints {
		r.prints = append(r.prints, redactedValue{p, f.RedactionID, line})
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

// items reports content of items that were redacted, before or after it came.
func (r *redactions) items() {
	for _, key := range slices.Sorted(maps.Keys(r.withheld)) {
		line, has := r.content[key]
		switch redacted := r.withheld[key]; {
		case !has:
		case line < redacted:
			r.found.faultf(Redaction, pack.EventsFile, line, "has the content of an item that was redacted later, at line %d", redacted)
		default:
			r.found.faultf(Redaction, pack.EventsFile, line, "has the content of an item that was redacted at line %d", redacted)
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

// checkRedaction looks for redacted values in every byte of the pack.
func (v *verifier) checkRedaction() error {
	r := &v.facts.redacted
	r.items()
	if v.facts.lost {
		v.found.note(Redaction, "not all records could be read, so that redactions may be unknown")
	}
	if r.bare > 0 {
		v.found.note(Redaction, "%d redactions have no fingerprint, so that their values cannot be looked for", r.bare)
	}
	scanners, lacking, err := v.scanners()
	if err != nil {
		return err
	}
	switch {
	case v.totals.withheld > 0 && r.facts == 0:
		v.found.settle(Redaction, NotChecked, "the records are withheld, and with them what was redacted")
	case r.facts == 0:
		v.found.settle(Redaction, Passed, "nothing was redacted")
	case len(lacking) > 0:
		v.found.settle(Redaction, NotChecked, "redactions: %d, no content of redacted items; to look for the values, give the tenant's keys: %s", r.facts, strings.Join(lacking, ", "))
	default:
		v.found.settle(Redaction, Passed, "redactions: %d, their values stand nowhere", r.facts)
	}
	if len(scanners) == 0 {
		return nil
	}
	return v.scanFiles(scanners)
}

// scanner finds the values of the fingerprints of one key.
type scanner struct {
	*fingerprint.Scanner
	prints []redactedValue // by the index of a match
}

// scanners returns a scanner for each tenant key, and the ids of keys that lack.
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
				v.found.faultf(Redaction, pack.EventsFile, p.line, "has a fingerprint that cannot be read")
				continue
			}
			s.prints = append(s.prints, p)
		}
		list = append(list, s)
	}
	return list, lacking, nil
}
