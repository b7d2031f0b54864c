package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrBlank is the error for a line of white space.
var ErrBlank = errors.New("blank line")

// lineRecord is the type that a line is decoded into. lineRecord is a struct with the names of
// its members and a Read method that accepts the same input.
type lineRecord[T any] interface {
	*T
	Read(c *jsonscan.Cursor) bool
}

// DecodeRecord reads one line of a log into rec, which must be zero. Both passes over a log share
// lines. The error is ErrBlank or a *LineError.
func DecodeRecord[T any, R lineRecord[T]](lines *jsonscan.Lines, line []byte, rec R, last bool) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, ByteOrderMark))
	if len(line) == 0 {
		return ErrBlank
	}
	if lines.Read(line, rec.Read) {
		return nil
	}
	if !utf8.Valid(line) {
		return NewLineError(ReasonInvalidUTF8, "")
	}
	*rec = *new(T)
	err := json.Unmarshal(line, rec, jsonscan.Lenient)
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntactic):
		return SyntaxError(syntactic, last)
	case errors.As(err, &semantic) && semantic.JSONPointer == "":
		return NewLineError(ReasonNotAnObject, "JSON "+semantic.JSONKind.String())
	case errors.As(err, &semantic):
		return NewLineError(ReasonUnexpectedValue, fmt.Sprintf("JSON %s at %s", semantic.JSONKind, semantic.JSONPointer))
	}
	return NewLineError(ReasonMalformedJSON, "")
}

func SyntaxError(err *jsontext.SyntacticError, last bool) error {
	at := fmt.Sprintf("at byte %d", err.ByteOffset)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return NewLineError(ReasonDuplicateKey, at)
	case strings.Contains(err.Err.Error(), "max depth"):
		return NewLineError(ReasonTooDeep, at)
	case last && errors.Is(err, io.ErrUnexpectedEOF):
		return NewLineError(ReasonTruncatedLine, "the log ends in the middle of a record")
	}
	return NewLineError(ReasonMalformedJSON, at)
}

// LineError is a problem of one line. The line number is added later.
type LineError struct {
	reason Reason
	Detail string
}

// NewLineError returns a problem with a reason and further details.
func NewLineError(reason Reason, detail string) *LineError { return &LineError{reason, detail} }

func (e *LineError) Error() string { return string(e.reason) + ": " + e.Detail }

// ParseTime reads a timestamp. ParseTime returns false for a time that a ledger cannot hold. A
// timestamp without a zone counts as UTC.
func ParseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", s)
	}
	if err != nil || t.UTC().Year() < 1900 || t.UTC().Year() > 2261 {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// ShortText limits the length of a string that is copied from the log, such as a folder or a
// model name.
func ShortText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
