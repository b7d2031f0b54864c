package projector

import (
	"context"
	"encoding/binary"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/ctxledger/ctxledger/ledger"
)

// identities says quickly which identities are certainly new: a Bloom filter
// over all that the ledger holds. A hit proves nothing and is looked up. Not
// safe for concurrent use.
type identities struct {
	filter   *bloom.BloomFilter
	capacity uint
	count    uint
}

const (
	minCapacity   = 1 << 20
	falsePositive = 0.01 // about 10 bits an identity
)

// loadIdentities fills a filter from the ledger, sized to grow to twice what
// is there.
func loadIdentities(ctx context.Context, l *ledger.Ledger) (*identities, error) {
	var all []uint64
	if err := l.Identities(ctx, func(identity uint64) { all = append(all, identity) }); err != nil {
		return nil, err
	}
	ids := newIdentities(max(minCapacity, 2*uint(len(all))))
	for _, identity := range all {
		ids.add(identity)
	}
	return ids, nil
}

func newIdentities(capacity uint) *identities {
	return &identities{capacity: capacity, filter: bloom.NewWithEstimates(capacity, falsePositive)}
}

// full reports that the filter holds what it was sized for: load a new one.
func (ids *identities) full() bool { return ids.count >= ids.capacity }

func (ids *identities) add(identity uint64) {
	if !ids.filter.TestAndAdd(identityBytes(identity)) {
		ids.count++
	}
}

func (ids *identities) maybe(identity uint64) bool { return ids.filter.Test(identityBytes(identity)) }

func identityBytes(identity uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, identity)
}
