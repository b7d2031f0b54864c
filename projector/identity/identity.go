// Package identity tells which identities of events are certainly new.
package identity

import (
	"math/bits"
)

// A Filter tells quickly which identities are certainly new. The Filter is a Bloom filter over all
// identities in the ledger. A hit may be false and needs a look-up. Not safe for concurrent
// use.
//
// An identity is one bit in each word of one block, so that each test reads one cache line. The
// filter is sized at 1.5 places for each identity, with 16 bits for each place.
//
// A look-up in the ledger reads the hashes of all events, because no index fits their order.
// The cost of a look-up does not depend on the number of identities in it.
type Filter struct {
	blocks   [][8]uint64
	capacity uint64
	count    uint64
}

const (
	Least        = 1 << 20
	identityBits = 16 // bits for each identity when the filter is full
)

// New returns a filter with room for capacity identities.
func New(capacity uint64) *Filter {
	return &Filter{capacity: capacity, blocks: make([][8]uint64, capacity*identityBits/512+1)}
}

// Full reports whether the filter holds as many identities as its capacity. The caller then
// loads a new one.
func (ids *Filter) Full() bool { return ids.count >= ids.capacity }

func (ids *Filter) Add(identity uint64) {
	block, places := ids.find(identity)
	added := false
	for i := range block {
		bit := uint64(1) << (places >> (6 * i) & 63)
		added = added || block[i]&bit == 0
		block[i] |= bit
	}
	if added {
		ids.count++
	}
}

func (ids *Filter) Maybe(identity uint64) bool {
	block, places := ids.find(identity)
	for i := range block {
		if block[i]>>(places>>(6*i)&63)&1 == 0 {
			return false
		}
	}
	return true
}

// find returns the block of an identity, and six bits for each word that give its place there.
func (ids *Filter) find(identity uint64) (block *[8]uint64, places uint64) {
	at, rest := bits.Mul64(mix(identity), uint64(len(ids.blocks)))
	return &ids.blocks[at], mix(rest)
}

// mix makes every bit depend on all bits: the last step of SplitMix64 (Steele, Lea
// and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
