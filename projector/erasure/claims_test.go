package erasure

import (
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

func TestWhichClaimOfAnErasureCounts(t *testing.T) {
	t.Parallel()
	right, wrong := tlog.Hash{1}, tlog.Hash{2}
	by := func(tenant string, hash tlog.Hash) claim {
		return claim{ErasedLeaf: streamio.ErasedLeaf{Hash: hash, Tenant: tenant}}
	}
	for name, c := range map[string]struct {
		claims       []claim
		leaf         translog.Leaf
		logged, lost bool
		want         int // index of the claim that counts, -1 for none
	}{
		"its own":                               {[]claim{by("a", right)}, translog.Leaf{Hash: right, Tenant: "a"}, true, false, 0},
		"another leaf":                          {[]claim{by("a", wrong)}, translog.Leaf{Hash: right, Tenant: "a"}, true, false, -1},
		"another tenant":                        {[]claim{by("b", right)}, translog.Leaf{Hash: right, Tenant: "a"}, true, false, -1},
		"the first that fits":                   {[]claim{by("b", right), by("a", wrong), by("a", right), by("a", right)}, translog.Leaf{Hash: right, Tenant: "a"}, true, false, 2},
		"a leaf of older rules":                 {[]claim{by("b", wrong), by("b", right)}, translog.Leaf{Hash: right}, true, false, 1},
		"default without a name":                {[]claim{by("", right)}, translog.Leaf{Hash: right, Tenant: "default"}, true, false, 0},
		"a leaf where there is none":            {[]claim{by("a", wrong)}, translog.Leaf{}, false, false, -1},
		"none where there is none":              {[]claim{by("a", wrong), by("a", tlog.Hash{})}, translog.Leaf{}, false, false, 1},
		"none where there is one":               {[]claim{by("a", tlog.Hash{})}, translog.Leaf{Hash: right, Tenant: "a"}, true, false, -1},
		"the first where the log is lost":       {[]claim{by("a", wrong), by("a", right)}, translog.Leaf{}, false, true, 0},
		"by the log where only others are lost": {[]claim{by("a", wrong), by("a", right)}, translog.Leaf{Hash: right, Tenant: "a"}, true, true, 1},
	} {
		got, ok := counting(c.claims, c.leaf, c.logged, c.lost)
		if ok != (c.want >= 0) || ok && got != c.claims[c.want] {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
}
