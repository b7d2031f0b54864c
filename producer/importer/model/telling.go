package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Revision is the revision of the importer. It must rise when the same log with the same options
// gives other facts than before. Revision 1 is all versions whose sources do not name it.
const Revision = 5

// SliceRevision is Revision for slices, see [Thread.Slice]. It rises alone when only slices give other
// facts than before, so no whole log is told again.
const SliceRevision = 5

// Telling returns the end of every source of an import, see [telling.Telling]. Imports with the
// same Telling and tenant give the same facts of a log.
func (o Options) Telling() string { return o.tellingOf(Revision) }

func (o Options) tellingOf(revision int) string {
	texts := "bare"
	if o.StoreText {
		texts = "text"
	}
	options := fmt.Appendf(nil, "%s %s %t %d", o.Key.ID, o.Equality.ID, o.Count != nil, o.maxLineBytes())
	if o.Titles != nil {
		options = append(options, " titles"...)
	}
	if o.StoresLargeText() {
		options = append(options, " large texts"...)
	}
	if o.Rewritten != "" {
		options = fmt.Appendf(options, " %s", o.Rewritten)
	}
	sum := sha256.Sum256(options)
	return ";r" + strconv.Itoa(revision) + ";" + texts + ";" + hex.EncodeToString(sum[:4])
}
