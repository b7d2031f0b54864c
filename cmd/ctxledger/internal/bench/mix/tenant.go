package mix

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// tenant is whose sessions they are: its key, and what its guard withholds.
type tenant struct {
	name     string
	key      schema.Key
	withheld []schema.Fingerprint
}

// tenants are the same for every seed.
var tenants = []*tenant{newTenant("acme"), newTenant("globex"), newTenant("initech")}

// withheldValues is how many values a tenant's guard knows. None of them is in
// any event.
const withheldValues = 4

func newTenant(name string) *tenant {
	var seed [32]byte
	copy(seed[:], name)
	key, err := schema.NewKey(rand.NewChaCha8(seed), begin)
	if err != nil {
		panic(fmt.Sprintf("mix: %v", err)) // the source of bytes has no end
	}
	fingerprints, err := fingerprint.New(key)
	if err != nil {
		panic(fmt.Sprintf("mix: %v", err)) // the key is not zero
	}
	t := &tenant{name: name, key: key}
	for i := range withheldValues {
		fingerprint, _ := fingerprints.Of(fmt.Appendf(nil, "withheld-from-%s-%d-3f9c51e0b8", name, i)) // long enough
		t.withheld = append(t.withheld, fingerprint)
	}
	return t
}

// Keys returns the tenants' keys, by which a projector recognises what the
// redactions among the events withhold.
func Keys() ([]schema.KeyRing, error) { return keysOf(tenants), nil }

// Ring returns a ring for the log of a bench's ledger: its secret is the same in every
// process, so that a rebuild makes the leaves of the drain.
func Ring() (proof.Ring, error) {
	secret, err := proof.NewSecret(strings.NewReader(strings.Repeat("b", proof.SecretSize)))
	if err != nil {
		return proof.Ring{}, err
	}
	return proof.Ring{Name: "ctxledger-bench", Secret: secret}.Rotate(begin)
}

func keysOf(list []*tenant) []schema.KeyRing {
	rings := make([]schema.KeyRing, len(list))
	for i, t := range list {
		rings[i] = schema.KeyRing{Tenant: t.name, Keys: []schema.Key{t.key}}
	}
	return rings
}
