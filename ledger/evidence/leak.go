package evidence

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// LeakError means that the pack would have contained a withheld value. The error never holds the
// value itself.
type LeakError struct {
	File      string // path in the pack
	Offset    int64  // in bytes from the beginning of the file; -1 in a record
	LogIndex  int64  // of the current record
	StreamSeq uint64
	// RedactionID and PolicyRef name the redaction that withholds the value.
	RedactionID, PolicyRef string
}

func (e *LeakError) Error() string {
	place := fmt.Sprintf("the record at log index %d (stream sequence %d)", e.LogIndex, e.StreamSeq)
	if e.Offset >= 0 {
		place = fmt.Sprintf("%s at byte %d, written for %s", e.File, e.Offset, place)
	}
	return fmt.Sprintf("no pack was written: %[3]s contains a value that redaction %[1]s withholds under %[2]s; remove earlier records of the value with `ctxledger erase`", e.RedactionID, e.PolicyRef, place)
}

// leaks searches for withheld values. The zero value finds none.
type leaks struct {
	watches []watch
	longest int // length of the longest value in bytes
	unknown int // number of fingerprints without an available key
	place   LeakError
}

// watch holds the fingerprints of one key.
type watch struct {
	scanner *fingerprint.Scanner
	list    []privacy.Withheld
}

// newLeaks makes the scanners for a tenant's fingerprints under the available keys.
func newLeaks(list []privacy.Withheld, tenant string, keys []schema.Key) (*leaks, error) {
	l := &leaks{}
	index := make(map[string]int)
	for _, key := range keys {
		f, err := fingerprint.New(key)
		if err != nil {
			return nil, fmt.Errorf("look for withheld values: %w", err)
		}
		scanner, err := f.Scanner(nil)
		if err != nil {
			return nil, fmt.Errorf("look for withheld values: %w", err)
		}
		index[key.ID] = len(l.watches)
		l.watches = append(l.watches, watch{scanner: scanner})
	}
	for _, w := range list {
		if !slices.Contains(ledger.StoredTenants(tenant), w.Tenant) {
			continue
		}
		i, ok := index[w.Fingerprint.KeyID]
		if !ok || l.watches[i].scanner.Add(w.Fingerprint) != nil {
			l.unknown++
			continue
		}
		l.watches[i].list = append(l.watches[i].list, w)
		l.longest = max(l.longest, int(min(w.Fingerprint.Length, math.MaxInt32)))
	}
	l.watches = slices.DeleteFunc(l.watches, func(w watch) bool { return len(w.list) == 0 })
	return l, nil
}

// at sets the place of the next record.
func (l *leaks) at(e *read.Logged) {
	l.place = LeakError{Offset: -1, LogIndex: e.Index, StreamSeq: e.StreamSeq}
}

// search searches a text for withheld values.
func (l *leaks) search(text []byte) *LeakError {
	for _, w := range l.watches {
		for _, m := range w.scanner.Scan(text) {
			found := l.place
			found.Offset = int64(m.Start)
			found.RedactionID, found.PolicyRef = w.list[m.Fingerprint].RedactionID, w.list[m.Fingerprint].PolicyRef
			return &found
		}
	}
	return nil
}

// searchEvent searches the attributes and the data of an event, and the strings of the data in
// unescaped form.
func (l *leaks) searchEvent(e *schema.Event) error {
	if len(l.watches) == 0 {
		return nil
	}
	in := func(text []byte) error {
		if found := l.search(text); found != nil {
			found.Offset = -1
			return found
		}
		return nil
	}
	for _, a := range e.Attributes() {
		if err := in([]byte(a.Value)); err != nil {
			return err
		}
	}
	if err := in(e.Data); err != nil {
		return err
	}
	if bytes.IndexByte(e.Data, '\\') < 0 {
		return nil
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(e.Data), jsontext.AllowDuplicateNames(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil // end of the data, or data without valid JSON
		}
		if token.Kind() == '"' {
			if err := in([]byte(token.String())); err != nil {
				return err
			}
		}
	}
}

// guard returns a writer that refuses text with a withheld value.
func (l *leaks) guard(file string, w io.Writer) io.Writer {
	if len(l.watches) == 0 {
		return w
	}
	return &guarded{leaks: l, file: file, to: w}
}

// guarded keeps the end of the written text, because a value can continue in the next write.
type guarded struct {
	leaks *leaks
	file  string
	to    io.Writer
	kept  []byte // end of the text, already searched
	at    int64  // offset of kept in the file
}

func (g *guarded) Write(text []byte) (int, error) {
	g.kept = append(g.kept, text...)
	if found := g.leaks.search(g.kept); found != nil {
		found.File, found.Offset = g.file, g.at+found.Offset
		return 0, found
	}
	if extra := len(g.kept) - (g.leaks.longest - 1); extra > 0 {
		g.kept = append(g.kept[:0], g.kept[extra:]...)
		g.at += int64(extra)
	}
	return g.to.Write(text)
}
