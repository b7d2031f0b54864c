package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// claudeRecord is one line of a Claude Code session log, as versions 2.0 and
// 2.1 write it. Members that carry no context facts are left out.
type claudeRecord struct {
	Type              string         `json:"type"`
	Subtype           string         `json:"subtype"` // of type system
	UUID              string         `json:"uuid"`
	ParentUUID        string         `json:"parentUuid"`
	LogicalParentUUID string         `json:"logicalParentUuid"` // where a boundary cut the chain
	SessionID         string         `json:"sessionId"`
	AgentID           string         `json:"agentId"` // of a sub-agent
	Timestamp         string         `json:"timestamp"`
	Version           string         `json:"version"`
	Cwd               string         `json:"cwd"`
	GitBranch         string         `json:"gitBranch"`
	Slug              string         `json:"slug"`
	RequestID         string         `json:"requestId"`
	SourceToolUseID   string         `json:"sourceToolUseID"` // of text that a tool call injected
	IsSidechain       bool           `json:"isSidechain"`
	IsMeta            bool           `json:"isMeta"`
	IsCompactSummary  bool           `json:"isCompactSummary"`
	Message           *claudeMessage `json:"message"`
	Attachment        jsontext.Value `json:"attachment"`
	Compact           *claudeCompact `json:"compactMetadata"`
	Microcompact      *claudeElision `json:"microcompactMetadata"`
}

type claudeMessage struct {
	ID         string         `json:"id"`
	Model      string         `json:"model"`
	Role       string         `json:"role"`
	StopReason string         `json:"stop_reason"`
	Content    jsontext.Value `json:"content"` // a string or an array of blocks
	Usage      jsontext.Value `json:"usage"`
}

type claudeCompact struct {
	Trigger    string `json:"trigger"`
	PreTokens  *int64 `json:"preTokens"`
	PostTokens *int64 `json:"postTokens"`
	// Newer versions keep the tail of the conversation, told by its ends or by
	// its records.
	PreservedSegment *struct {
		HeadUUID string `json:"headUuid"`
		TailUUID string `json:"tailUuid"`
	} `json:"preservedSegment"`
	PreservedMessages *struct {
		UUIDs []string `json:"uuids"`
	} `json:"preservedMessages"`
}

type claudeElision struct {
	Trigger            string   `json:"trigger"`
	PreTokens          *int64   `json:"preTokens"` // not the size of the window
	TokensSaved        *int64   `json:"tokensSaved"`
	CompactedToolIDs   []string `json:"compactedToolIds"`
	ClearedAttachments []string `json:"clearedAttachmentUUIDs"`
}

// The log escapes lone surrogates, where JavaScript cut a string in the middle
// of a character; they are read as U+FFFD. Raw bytes are checked beforehand.
var lenient = jsontext.AllowInvalidUTF8(true)

// errBlank stands for a line of white space.
var errBlank = errors.New("blank line")

// decodeRecord reads one line into rec, which should be zero. The error is
// errBlank or a *Problem without a file and a line.
func decodeRecord(line []byte, rec any, last bool) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
	if len(line) == 0 {
		return errBlank
	}
	if !utf8.Valid(line) {
		return &lineError{ReasonInvalidUTF8, ""}
	}
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

// maxNativeID keeps ids, and with them facts that list many, small. Native ids
// have about 40 bytes.
const maxNativeID = 128

// validID reports whether a native id can travel as an attribute and as a
// reference.
func validID(id string) bool {
	return len(id) <= maxNativeID && utf8.ValidString(id) &&
		!strings.ContainsFunc(id, func(r rune) bool { return unicode.IsControl(r) || r == '"' || r == '\\' }) &&
		!strings.HasPrefix(id, "{")
}

// checkIDs returns a problem when one of the record's ids cannot travel.
func (r *claudeRecord) checkIDs() error {
	ids := []string{r.UUID, r.ParentUUID, r.LogicalParentUUID, r.SessionID, r.AgentID, r.SourceToolUseID}
	names := []string{"uuid", "parentUuid", "logicalParentUuid", "sessionId", "agentId", "sourceToolUseID"}
	if r.Message != nil {
		ids, names = append(ids, r.Message.ID), append(names, "message.id")
	}
	for i, id := range ids {
		if !validID(id) {
			return &lineError{ReasonBadID, fmt.Sprintf("%s is longer than %d bytes or holds control characters or quotes", names[i], maxNativeID)}
		}
	}
	return nil
}

// time returns the record's timestamp, and false when it has none that a
// ledger can hold.
func (r *claudeRecord) time() (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, r.Timestamp)
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
