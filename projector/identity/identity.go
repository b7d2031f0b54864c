// Package identity says which identities of events are certainly new.
package identity

import (
	"math/bits"
)

// A Filter says quickly which identities are certainly new: a Bloom filter over
// all that the ledger holds. A hit proves nothing and is looked up. Not safe for
// concurrent use.
//
// An identity is one bit in each word of one block, so that it costs one line of
// memory and not eight: what all events have is read when a stream is taken over,
// and the events wait for it.
//
//	20 million identities   1.5 times that many places   60 MB
//	needless hits           1 in 1,000 when full, 1 in 10,000 at two thirds
//
// One look-up reads the hashes of all events, whose order no index helps: 0.01 CPU-s
// a million events, whether it looks for one or for hundreds. So it is the batches
// with any hit that cost.
type Filter struct {
	blocks   [][8]uint64
	capacity uint64
	count    uint64
}

const (
	Least        = 1 << 20
	identityBits = 16 // when the filter is full
)

// New returns a filter that has room for so many identities.
func New(capacity uint64) *Filter {
	return &Filter{capacity: capacity, blocks: make([][8]uint64, capacity*identityBits/512+1)}
}

// Full reports that the filter holds what it was sized for: load a new one.
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

// find returns the block of an identity, and in six bits a word its places there.
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
