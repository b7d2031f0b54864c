package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errBlank stands for a line of white space.
var errBlank = errors.New("blank line")

// lineRecord is what a line is decoded into: a struct with the names of its members, and a
// way to read it that takes the same.
type lineRecord[T any] interface {
	*T
	read(c *cursor) bool
}

// decodeRecord reads one line into rec, which is zero. The error is errBlank or a
// *lineError.
func decodeRecord[T any, R lineRecord[T]](line []byte, rec R, last bool) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark))
	if len(line) == 0 {
		return errBlank
	}
	if !utf8.Valid(line) {
		return &lineError{ReasonInvalidUTF8, ""}
	}
	if readLine(line, rec.read) {
		return nil
	}
	*rec = *new(T)
	err := json.Unmarshal(line, rec, lenient)
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntactic):
		return syntaxError(syntactic, last)
	case errors.As(err, &semantic) && semantic.JSONPointer == "":
		return &lineError{ReasonNotAnObject, "JSON " + semantic.JSONKind.String()}
	case errors.As(err, &semantic):
		return &lineError{ReasonUnexpectedValue, fmt.Sprintf("JSON %s at %s", semantic.JSONKind, semantic.JSONPointer)}
	}
	return &lineError{ReasonMalformedJSON, ""}
}

func syntaxError(err *jsontext.SyntacticError, last bool) error {
	at := fmt.Sprintf("at byte %d", err.ByteOffset)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &lineError{ReasonDuplicateKey, at}
	case strings.Contains(err.Err.Error(), "max depth"):
		return &lineError{ReasonTooDeep, at}
	case last && errors.Is(err, io.ErrUnexpectedEOF):
		return &lineError{ReasonTruncatedLine, "the log ends in the middle of a record"}
	}
	return &lineError{ReasonMalformedJSON, at}
}

// lineError is a problem of one line, before it is known which.
type lineError struct {
	reason Reason
	detail string
}

func (e *lineError) Error() string { return string(e.reason) + ": " + e.detail }

// parseTime reads a timestamp, and returns false for one that a ledger cannot
// hold. One without a zone is taken for UTC.
func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", s)
	}
	if err != nil || t.UTC().Year() < 1900 || t.UTC().Year() > 2261 {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// shortText bounds a string of the log that is kept as it is, such as a
// folder or a model name.
func shortText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
