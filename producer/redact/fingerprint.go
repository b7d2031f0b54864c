package redact

import (
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// Fingerprinted returns a guard for the values of g whose hits hold keyed fingerprints of
// the values. Guards that [Guard.With] derives from it do the same. A nil guard becomes an
// empty one.
func (g *Guard) Fingerprinted(f fingerprint.Hasher) *Guard {
	var h held
	if g != nil && g.get != nil {
		h = *g.held()
	}
	h.fingerprinter, h.fingerprints = &f, nil
	h.fingerprint()
	return &Guard{get: func() *held { return &h }}
}

// fingerprint computes the missing fingerprints. A value that is too short for a
// fingerprint has nil.
func (h *held) fingerprint() {
	if h.fingerprinter == nil {
		return
	}
	for _, v := range h.values[len(h.fingerprints):] {
		var of *schema.Fingerprint
		if fp, ok := h.fingerprinter.Of([]byte(v.secret)); ok {
			of = &fp
		}
		h.fingerprints = append(h.fingerprints, of)
	}
}

// fingerprintOf returns the fingerprint of a value, or nil.
func (h *held) fingerprintOf(value int) *schema.Fingerprint {
	if h.fingerprinter == nil {
		return nil
	}
	return h.fingerprints[value]
}
