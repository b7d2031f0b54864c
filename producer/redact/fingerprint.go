package redact

import (
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"

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
		var of []schema.Fingerprint
		for _, text := range disguised(v.secret) {
			if fp, ok := h.fingerprinter.Of([]byte(text)); ok {
				of = append(of, fp)
			}
		}
		h.fingerprints = append(h.fingerprints, of)
	}
}

// fingerprintsOf returns the fingerprints of a value and its disguises, or none.
func (h *held) fingerprintsOf(value int) []schema.Fingerprint {
	if h.fingerprinter == nil {
		return nil
	}
	return h.fingerprints[value]
}

// disguised returns the texts that the fingerprints of a value recognise, the value first. A word of
// the contract is left out, because its fingerprint would stop every event. The disguises of a short
// value occur by chance, so it has none.
func disguised(secret string) (list []string) {
	if len(secret) < fingerprint.Prefix {
		return nil
	}
	add := func(texts ...string) {
		for _, text := range texts {
			if !slices.Contains(list, text) && !schema.HoldsWord(text) {
				list = append(list, text)
			}
		}
	}
	add(secret, strings.ToLower(secret), strings.ToUpper(secret), invisible.Replace(secret))
	add(url.QueryEscape(secret), url.PathEscape(secret))
	add(base64Cores(secret)...)
	lower := hex.EncodeToString([]byte(secret))
	add(lower, strings.ToUpper(lower))
	add(html.EscapeString(secret), entities(secret, "&#%d;"), entities(secret, "&#x%x;"))
	return list
}

// invisible takes out line breaks and characters without width.
var invisible = strings.NewReplacer("\r", "", "\n", "", "\u00ad", "", "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "")

// entities writes each character as a numeric character reference of HTML.
func entities(secret, format string) string {
	var b strings.Builder
	for _, r := range secret {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}
