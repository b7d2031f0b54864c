package decode

import (
	"errors"
	"sync"

	"github.com/ctxledger/ctxledger/ledger/proof"
)

// ErrNoSecret means that the ledger has a transparency log and this projector has
// not the secret that its salts derive from. Nothing is written, because the log
// would have a hole: give it the ring of the ledger.
var ErrNoSecret = errors.New("no_ledger_secret: the ledger has a transparency log, and its ring is not at hand: give --data the folder that has it, or copy the file keys/ledger.proof there")

// Leaves make the leaves of a transparency log: those of the messages that may become
// events. The zero value makes none, and so does nil.
type Leaves struct {
	secret  proof.Secret
	First   uint64 // events before this sequence have no leaf
	salters sync.Pool
}

// Use takes the secret of a ring for the events to come.
func (l *Leaves) Use(ring proof.Ring) {
	if !l.secret.Same(ring.Secret) {
		l.secret, l.salters = ring.Secret, sync.Pool{}
	}
}

// None reports whether no leaves are made.
func (l *Leaves) None() bool { return l == nil || l.secret.IsZero() }

// from is the first sequence that has a leaf.
func (l *Leaves) from() uint64 {
	if l.None() {
		return 0
	}
	return l.First
}

// salter returns what makes the leaves in one goroutine, nil where none are made; done
// takes it back.
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
