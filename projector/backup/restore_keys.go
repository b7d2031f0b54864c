package backup

import (
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// keyNames returns the public names of the keys of an installation, sorted by tenant.
func keyNames(keys func() ([]schema.KeyRing, error)) (names []string, err error) {
	if keys == nil {
		return nil, nil
	}
	rings, err := keys()
	if err != nil {
		return nil, fmt.Errorf("read the tenants' keys: %w", err)
	}
	for _, ring := range rings {
		for _, key := range ring.Keys {
			names = append(names, schema.TenantOf(ring.Tenant)+"/"+key.ID)
		}
	}
	return names, nil
}

// findKeys returns [ErrKeys] if keys are missing that the backup needs: the ledger's ring, for the
// leaves of the transparency log and the signatures of its heads, and the tenants' keys, which
// recognise withheld values.
func (r Restore) findKeys(m Manifest) error {
	have, err := keyNames(r.Keys)
	if err != nil {
		return err
	}
	known := make(map[string]bool)
	for _, name := range have {
		known[name] = true
	}
	for _, name := range m.KeyNames {
		if !known[name] {
			return fmt.Errorf("%w (key %s of a tenant)", ErrKeys, name)
		}
	}
	for _, s := range m.Streams {
		if s.LogSize == 0 {
			continue
		}
		if r.Ring == nil {
			return fmt.Errorf("%w (keys/ledger.proof)", ErrKeys)
		}
		ring, err := r.Ring()
		if err != nil {
			return fmt.Errorf("read the key ring of the ledger: %w", err)
		}
		if s.Head == "" {
			continue
		}
		if _, err := proof.Open([]byte(s.Head), ring.Verifiers()); err != nil {
			return fmt.Errorf("%w (keys/ledger.proof is the file of another installation: %w)", ErrKeys, err)
		}
	}
	return nil
}
