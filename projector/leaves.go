package projector

import (
	"sync"

	"github.com/ctxledger/ctxledger/ledger/proof"
)

// leaves make the leaves of a transparency log: those of the messages that may become
// events. The zero value makes none, and so does nil.
type leaves struct {
	secret  proof.Secret
	first   uint64 // events before this sequence have no leaf
	salters sync.Pool
}

// use takes the secret of a ring for the events to come.
func (l *leaves) use(ring proof.Ring) {
	if !l.secret.Same(ring.Secret) {
		l.secret, l.salters = ring.Secret, sync.Pool{}
	}
}

// none reports whether no leaves are made.
func (l *leaves) none() bool { return l == nil || l.secret.IsZero() }

// from is the first sequence that has a leaf.
func (l *leaves) from() uint64 {
	if l.none() {
		return 0
	}
	return l.first
}

// salter returns what makes the leaves in one goroutine, nil where none are made; done
// takes it back.
func (l *leaves) salter() *proof.Salter {
	if l.none() {
		return nil
	}
	if salter, ok := l.salters.Get().(*proof.Salter); ok {
		return salter
	}
	return proof.NewSalter(l.secret)
}

func (l *leaves) done(salter *proof.Salter) {
	if salter != nil {
		l.salters.Put(salter)
	}
}
