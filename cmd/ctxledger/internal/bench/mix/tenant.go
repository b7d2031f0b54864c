package mix

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// tenant holds a tenant's key and the values that its guard withholds.
type tenant struct {
	name     string
	key      schema.Key
	withheld []schema.Fingerprint
}

// tenants are the same for every seed.
var tenants = []*tenant{newTenant("acme"), newTenant("globex"), newTenant("initech")}

// withheldValues is the number of values in a tenant's guard. No event contains these values.
const withheldValues = 4

func newTenant(name string) *tenant {
	var seed [32]byte
	copy(seed[:], name)
	key, err := schema.NewKey(rand.NewChaCha8(seed), begin)
	if err != nil {
		panic(fmt.Sprintf("mix: %v", err)) // the source of bytes never ends
	}
	fingerprints, err := fingerprint.New(key)
	if err != nil {
		panic(fmt.Sprintf("mix: %v", err)) // the key is not zero
	}
	t := &tenant{name: name, key: key}
	for i := range withheldValues {
		fingerprint, _ := fingerprints.Of(fmt.Appendf(nil, "withheld-from-%s-%d-3f9c51e0b8", name, i)) // the value is long enough
		t.withheld = append(t.withheld, fingerprint)
	}
	return t
}

// Keys returns the tenants' keys. With the keys, a projector recognises the values that
// redactions withhold.
func Keys() ([]schema.KeyRing, error) { return keysOf(tenants), nil }

// Ring returns the key ring for the log of a bench's ledger. The secret is the same in every
// process, so a rebuild makes the same leaves as the drain.
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
