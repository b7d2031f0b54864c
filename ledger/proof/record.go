package proof

import (
	"crypto/sha256"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/schema"
)

// Record returns the record of an event. The package comment gives its format.
func Record(e *schema.Event, salt Salt) []byte {
	h := sha256.New()
	h.Write(salt[:])
	h.Write(e.Data)
	return h.Sum(e.AppendAttributes(make([]byte, 0, 1024)))
}

// Leaf returns the hash of the record of e.
func Leaf(e *schema.Event, salt Salt) tlog.Hash {
	return tlog.RecordHash(Record(e, salt))
}
