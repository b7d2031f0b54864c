package streamio

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/ledger"
)

func TestRulesReadWhatTheyWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r rules
		version, from := ledger.EnvelopeRules, uint64(0)
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			version += ledger.Rules(rapid.IntRange(1, 3).Draw(t, "version"))
			from += rapid.Uint64Range(1, 1<<40).Draw(t, "from")
			r = append(r, rulesFrom{version, from})
		}
		again, err := parseRules(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q reads as %q: %v", r, again, err)
		}
		at := rapid.Uint64Range(0, 1<<42).Draw(t, "sequence")
		want := ledger.EnvelopeRules
		for _, of := range r {
			if of.From <= at {
				want = of.version
			}
		}
		if got := r.At(at); got != want {
			t.Fatalf("%q gives %d at %d, not %d", r, got, at, want)
		}
	})
	for _, text := range []string{"4", "4@", "@4", "x@1", "4@-1", "3@1", "4@1 4@2", "4@9 5@9", "5@1 4@2", "4@1,5@2", "4@18446744073709551616"} {
		if r, err := parseRules(text); err == nil {
			t.Errorf("%q reads as %q", text, r)
		}
	}
}
