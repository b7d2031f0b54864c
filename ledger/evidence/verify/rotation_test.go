package verify

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// TestRotatedKeys makes packs before, during and after a rotation of the ledger's key. Each pack
// verifies only with the keys that signed it.
func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	before, err := proof.NewRing(rigTime)
	if err != nil {
		t.Fatal(err)
	}
	after, err := before.Rotate(rigTime)
	if err != nil {
		t.Fatal(err)
	}
	made := func(name string, rings ...proof.Ring) *rig {
		r := newRig(t, filepath.Join(t.TempDir(), name), false, sessionScope(), len(rings))
		s := newSession(t, 1)
		for i, ring := range rings {
			signer, err := ring.Signer()
			r.must(err)
			if i > 0 {
				r.nextLog() // the earlier key signs the end of this log
			}
			r.key.signer = signer
			s.turnOf(4, func(e *schema.Event) { r.record(e) })
		}
		r.record(s.seal("session"))
		r.finish()
		return r
	}
	keys := func(ring proof.Ring) Options {
		list, err := proof.ParseVerifiers(ring.Public())
		if err != nil {
			t.Fatal(err)
		}
		return Options{Keys: list}
	}
	onlyNew := keys(after)
	onlyNew.Keys = onlyNew.Keys[len(onlyNew.Keys)-1:]
	old, across, young := made("old", before), made("across", before, after), made("new", after)
	for _, c := range []struct {
		what   string
		pack   *rig
		keys   Options
		passes bool
	}{
		{"an old pack with the keys of then", old, keys(before), true},
		{"an old pack with those of now, the one before among them", old, keys(after), true},
		{"an old pack with the new key alone", old, onlyNew, false},
		{"a pack with an old head with all keys", across, keys(after), true},
		{"a pack with an old head with the old key alone", across, keys(before), false},
		{"a pack with an old head with the new key alone", across, onlyNew, false},
		{"a new pack with all keys", young, keys(after), true},
		{"a new pack with the new key alone", young, onlyNew, true},
		{"a new pack with the keys of before", young, keys(before), false},
	} {
		report, err := Pack(context.Background(), c.pack.target, c.keys)
		if err != nil {
			t.Fatal(err)
		}
		if passed := report.Of(Signature).Status == Passed; passed != c.passes || report.Failed() == c.passes {
			t.Errorf("%s: passed %v, want %v\n%s", c.what, passed, c.passes, faults(report))
		}
	}
}
