package answer

import (
	"cmp"
	"reflect"

	"github.com/ctxledger/ctxledger/ledger/read"
)

// same reads the rows of the first answer. The other answers must have the same rows. A different row
// gives the error [ErrDifferent].
type same struct {
	read.Rows
	others []read.Rows
	err    error
}

func newSame(answers []read.Rows) *same { return &same{Rows: answers[0], others: answers[1:]} }

// Next implements [read.Rows].
func (s *same) Next() bool {
	if s.err != nil {
		return false
	}
	there := s.Rows.Next()
	for _, other := range s.others {
		if other.Next() != there || there && !reflect.DeepEqual(other.Values(), s.Rows.Values()) {
			s.err = cmp.Or(s.Rows.Err(), other.Err(), ErrDifferent)
			return false
		}
	}
	return there
}

// Err implements [read.Rows].
func (s *same) Err() error {
	err := cmp.Or(s.err, s.Rows.Err())
	for _, other := range s.others {
		err = cmp.Or(err, other.Err())
	}
	return err
}

// Close implements [read.Rows].
func (s *same) Close() error {
	err := s.Rows.Close()
	for _, other := range s.others {
		err = cmp.Or(err, other.Close())
	}
	return cmp.Or(err, s.Err())
}
