package decode

import (
	"errors"
	"sync"

	"github.com/ctxledger/ctxledger/ledger/proof"
)

// ErrNoSecret means that the ledger has a transparency log and this projector lacks the secret
// for its salts. Nothing is written, because the transparency log would have a hole. Give the
// projector the key ring of the ledger.
var ErrNoSecret = errors.New("no_ledger_secret: this ledger has a transparency log but its key file was not found: set --data to the folder that contains keys/ledger.proof")

// Leaves make the leaves of a transparency log, for messages that may become events. The zero
// value and nil make none.
type Leaves struct {
	secret  proof.Secret
	First   uint64 // events before this sequence have no leaf
	salters sync.Pool
}

// Use takes the secret of a ring for later events.
func (l *Leaves) Use(ring proof.Ring) {
	if !l.secret.Same(ring.Secret) {
		l.secret, l.salters = ring.Secret, sync.Pool{}
	}
}

// None reports whether no leaves are made.
func (l *Leaves) None() bool { return l == nil || l.secret.IsZero() }

// from returns the first sequence that has a leaf.
func (l *Leaves) from() uint64 {
	if l.None() {
		return 0
	}
	return l.First
}

// salter returns the maker of leaves for one goroutine, or nil if none are made. done returns
// it to the pool.
func (l *Leaves) salter() *proof.Salter {
	if l.None() {
		return nil
	}
	if salter, ok := l.salters.Get().(*proof.Salter); ok {
		return salter
	}
	return proof.NewSalter(l.secret)
}

func (l *Leaves) done(salter *proof.Salter) {
	if salter != nil {
		l.salters.Put(salter)
	}
}
