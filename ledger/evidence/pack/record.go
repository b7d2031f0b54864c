package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/schema"
)

// SaltSize is the length of a record's salt in bytes.
const SaltSize = 16

// Record is a line of events.ndjson, a record of the log.
//
// An erased record has only LogIndex, StreamSeq, Leaf and Erased. A withheld record has only
// LogIndex, StreamSeq, RecordedAt and Leaf. Both have no Event.
type Record struct {
	LogIndex   int64     // place in its log, from 0
	StreamSeq  uint64    // place in the JetStream stream
	RecordedAt time.Time // time of acceptance by the stream, UTC
	Leaf       tlog.Hash // RFC 6962 leaf hash of the record
	Salt       [SaltSize]byte
	Erased     string // id of the erasure
	Withheld   bool   // left out of this pack
	Event      *schema.Event
}

// AppendRecord appends the line of r to b, with its line feed. The same record always gives the
// same bytes: fixed order of members, attributes sorted by name, no white space. Data is text if
// its bytes are UTF-8, and base64 otherwise.
//
//	{"log_index":7,"stream_seq":9,"recorded_at":"…","leaf":"hex","salt":"hex","attributes":{…},"data":"…"}
//	{"log_index":7,"stream_seq":9,"recorded_at":"…","leaf":"hex","withheld":true}
//	{"log_index":7,"stream_seq":9,"leaf":"hex","erased":"id"}
func AppendRecord(b []byte, r *Record) []byte {
	b = append(b, `{"log_index":`...)
	b = strconv.AppendInt(b, r.LogIndex, 10)
	b = append(b, `,"stream_seq":`...)
	b = strconv.AppendUint(b, r.StreamSeq, 10)
	if r.Erased == "" {
		b = append(b, `,"recorded_at":"`...)
		b = append(r.RecordedAt.UTC().AppendFormat(b, time.RFC3339Nano), '"')
	}
	b = append(b, `,"leaf":"`...)
	b = append(hex.AppendEncode(b, r.Leaf[:]), '"')
	switch {
	case r.Erased != "":
		b = append(b, `,"erased":`...)
		b = appendText(b, r.Erased)
	case r.Withheld:
		b = append(b, `,"withheld":true`...)
	default:
		b = append(b, `,"salt":"`...)
		b = append(hex.AppendEncode(b, r.Salt[:]), '"')
		b = appendEvent(b, r.Event)
	}
	return append(b, "}\n"...)
}

func appendEvent(b []byte, e *schema.Event) []byte {
	b = append(b, `,"attributes":`...)
	for i, a := range e.Attributes() {
		b = append(b, "{,"[min(i, 1)])
		b = append(appendText(b, a.Name), ':')
		b = appendText(b, a.Value)
	}
	if !utf8.Valid(e.Data) {
		b = append(b, `},"data_base64":"`...)
		return append(base64.StdEncoding.AppendEncode(b, e.Data), '"')
	}
	b = append(b, `},"data":`...)
	return appendText(b, e.Data)
}

// ErrNotCanonical means that a line holds a record in another form than the form of [AppendRecord].
var ErrNotCanonical = errors.New("not in canonical form")

// ParseRecord reads a line of [AppendRecord], with or without its line feed. The error is
// [ErrNotCanonical] for other bytes of the same record. Other errors name the first wrong byte.
// Package verify checks the content of the record. The record does not alias the line.
func ParseRecord(line []byte) (*Record, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	s := lineScanner{line: line}
	r := s.record()
	if s.err != nil {
		return nil, s.err
	}
	buffer := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buffer)
	*buffer = AppendRecord((*buffer)[:0], r)
	if !bytes.Equal((*buffer)[:len(*buffer)-1], line) {
		return nil, ErrNotCanonical
	}
	return r, nil
}

// lineBuffers saves one allocation per record.
var lineBuffers = sync.Pool{New: func() any { return new([]byte) }}

// A LeafLine is a line of proofs/N/leaves: a leaf, its index in the log, and the digest of the
// record's line in events.ndjson. The digest shows which of the two files was changed.
type LeafLine struct {
	LogIndex int64
	Leaf     tlog.Hash
	Line     uint64 // [LineDigest]
}

// leafLineSize is the length of a LeafLine without its index.
const leafLineSize = 1 + 2*tlog.HashSize + 1 + 16 + 1

// LineDigest is the first 8 bytes of the SHA-256 of a line with its line feed.
func LineDigest(line []byte) uint64 {
	sum := sha256.Sum256(line)
	return binary.BigEndian.Uint64(sum[:])
}

// LeafLineOf returns the leaf line of a record with this line in events.ndjson.
func LeafLineOf(r *Record, line []byte) LeafLine {
	return LeafLine{r.LogIndex, r.Leaf, LineDigest(line)}
}

// AppendLeafLine appends the line of l to b: "index leaf digest", the last two
// in hexadecimal.
func AppendLeafLine(b []byte, l LeafLine) []byte {
	b = append(strconv.AppendInt(b, l.LogIndex, 10), ' ')
	b = append(hex.AppendEncode(b, l.Leaf[:]), ' ')
	b = hex.AppendEncode(b, binary.BigEndian.AppendUint64(nil, l.Line))
	return append(b, '\n')
}

// ParseLeafLine reads the output of [AppendLeafLine], with or without the line feed.
func ParseLeafLine(line []byte) (LeafLine, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	fields := bytes.Split(line, []byte(" "))
	var l LeafLine
	var digest [8]byte
	err := errors.New("want an index, a leaf and a digest")
	if len(fields) == 3 && len(fields[1]) == 2*len(l.Leaf) && len(fields[2]) == 2*len(digest) {
		l.LogIndex, err = parseIndex(fields[0])
		_, err2 := hex.Decode(l.Leaf[:], fields[1])
		_, err3 := hex.Decode(digest[:], fields[2])
		err = errors.Join(err, err2, err3)
	}
	l.Line = binary.BigEndian.Uint64(digest[:])
	if err == nil {
		again := AppendLeafLine(make([]byte, 0, 20+leafLineSize), l)
		if !bytes.Equal(again[:len(again)-1], line) {
			err = ErrNotCanonical
		}
	}
	if err != nil {
		return LeafLine{}, fmt.Errorf("leaf %q: %w", clip(string(line)), err)
	}
	return l, nil
}

func parseIndex(text []byte) (int64, error) {
	n, err := strconv.ParseUint(string(text), 10, 63)
	return int64(n), err
}

// AppendHashLine appends a line of proofs/N/hashes to b.
func AppendHashLine(b []byte, h tlog.Hash) []byte {
	return append(hex.AppendEncode(b, h[:]), '\n')
}

// ParseHashLine reads the output of [AppendHashLine], with or without the line feed.
func ParseHashLine(line []byte) (h tlog.Hash, err error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if len(line) != 2*len(h) {
		return h, fmt.Errorf("hash %q: want %d hexadecimal digits", clip(string(line)), 2*len(h))
	}
	if _, err = hex.Decode(h[:], line); err == nil && !bytes.Equal(hex.AppendEncode(nil, h[:]), line) {
		err = ErrNotCanonical
	}
	if err != nil {
		return tlog.Hash{}, fmt.Errorf("hash %q: %w", clip(string(line)), err)
	}
	return h, nil
}
