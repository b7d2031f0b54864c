package known

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"os"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// Counts are the token counts of the texts of one log. A log that has grown is parsed from its start,
// and counting the tokens of its texts takes most of that time. Texts are named by keyed digests, so a
// file of counts says nothing about a text without the tenant's key. The zero value knows no counts. Not
// safe for concurrent use.
type Counts struct {
	key        schema.Key
	before     map[textID]counted // those of the last import
	now        map[textID]counted // those of the texts that this import has met
	estimators []string
	added      bool
}

// textID names a text and the model for which it was counted.
type textID [12]byte

type counted struct {
	tokens    uint32
	estimator uint32 // its place in Counts.estimators
}

// shortText is the length of texts, in bytes, that are counted again each time.
const shortText = 64

// countBytes is the size of a count in a file: the text's name and two numbers, big-endian.
const countBytes = len(textID{}) + 4 + 4

// countsFile is the content of a file of counts.
type countsFile struct {
	Estimators []string
	Counts     []byte
	Sum        [sha256.Size]byte
}

// sum is the checksum of a file's other fields.
func (f countsFile) sum() [sha256.Size]byte {
	return sha256.Sum256(append([]byte(strings.Join(f.Estimators, "\n")), f.Counts...))
}

// Count returns the number of tokens that text has for model, and the name of the counter, as count does.
// count is called for texts without a known count.
func (c *Counts) Count(model, text string, count func(model, text string) (int64, string)) (int64, string) {
	if len(text) < shortText || c.key.IsZero() {
		return count(model, text)
	}
	id := c.nameOf(model, text)
	if known, ok := c.before[id]; ok {
		c.now[id] = known
		return int64(known.tokens), c.estimators[known.estimator]
	}
	tokens, estimator := count(model, text)
	if tokens >= 0 && tokens <= 1<<32-1 {
		place := slices.Index(c.estimators, estimator)
		if place < 0 {
			place = len(c.estimators)
			c.estimators = append(c.estimators, estimator)
		}
		c.now[id] = counted{uint32(tokens), uint32(place)}
		c.added = true
	}
	return tokens, estimator
}

func (c *Counts) nameOf(model, text string) (id textID) {
	sum := sha256.Sum256([]byte(c.key.Digest([]byte(text)) + model))
	copy(id[:], sum[:])
	return id
}

// Counts returns the counts that the last import of a log kept. A damaged file has none.
func (f Folder) Counts(log, kind string, key schema.Key) *Counts {
	c := &Counts{key: key, before: make(map[textID]counted), now: make(map[textID]counted)}
	if f == "" {
		return c
	}
	name, err := f.file(log, kind)
	if err != nil {
		return c
	}
	text, err := os.ReadFile(name + countsEnding)
	var file countsFile
	if err != nil || gob.NewDecoder(bytes.NewReader(text)).Decode(&file) != nil || file.sum() != file.Sum {
		return c
	}
	for row := range slices.Chunk(file.Counts, countBytes) {
		id, numbers := textID(row), row[len(textID{}):]
		known := counted{binary.BigEndian.Uint32(numbers), binary.BigEndian.Uint32(numbers[4:])}
		if int(known.estimator) < len(file.Estimators) {
			c.before[id] = known
		}
	}
	c.estimators = file.Estimators
	return c
}

const countsEnding = ".counts"

// KeepCounts keeps the counts of the texts that an import of the log has met, if some of them are new.
func (f Folder) KeepCounts(log, kind string, c *Counts) error {
	if f == "" || !c.added {
		return nil
	}
	name, err := f.file(log, kind)
	if err != nil {
		return err
	}
	file := countsFile{Estimators: c.estimators, Counts: make([]byte, 0, countBytes*len(c.now))}
	for id, known := range c.now {
		file.Counts = append(file.Counts, id[:]...)
		file.Counts = binary.BigEndian.AppendUint32(file.Counts, known.tokens)
		file.Counts = binary.BigEndian.AppendUint32(file.Counts, known.estimator)
	}
	file.Sum = file.sum()
	return f.replace(name+countsEnding, file)
}
