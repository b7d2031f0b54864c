package proof

import (
	"crypto/sha256"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/schema"
)

// Record returns what the log holds an event to be; see the package comment.
func Record(e *schema.Event, salt Salt) []byte {
	return AppendRecord(nil, e, salt)
}

// AppendRecord appends the record of e to b and returns the longer b.
func AppendRecord(b []byte, e *schema.Event, salt Salt) []byte {
	b = e.AppendAttributes(b)
	h := sha256.New()
	h.Write(salt[:])
	h.Write(e.Data)
	return h.Sum(b)
}

// Leaf returns the hash of the record of e.
func Leaf(e *schema.Event, salt Salt) tlog.Hash {
	return tlog.RecordHash(Record(e, salt))
}
