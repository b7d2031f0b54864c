package model

import "fmt"

// Reason is a stable code for a problem with a file or a line.
type Reason string

// The reasons of problems with whole files.
const (
	ReasonNotFound         Reason = "not_found"
	ReasonUnreadableFile   Reason = "unreadable_file"
	ReasonUnreadableFolder Reason = "unreadable_folder"
	ReasonNoTranscripts    Reason = "no_transcripts"
	ReasonEmptyFile        Reason = "empty_file"
	ReasonBinaryFile       Reason = "binary_file"
	ReasonUnknownFormat    Reason = "unknown_format"
	ReasonSecondSession    Reason = "second_session" // both are imported
)

// The reasons of problems with one line. The line is not imported, except where a comment states
// otherwise.
const (
	ReasonMalformedJSON   Reason = "malformed_json"
	ReasonTruncatedLine   Reason = "truncated_line" // the last line, cut off
	ReasonInvalidUTF8     Reason = "invalid_utf8"
	ReasonDuplicateKey    Reason = "duplicate_key"
	ReasonTooDeep         Reason = "too_deep"
	ReasonLineTooLong     Reason = "line_too_long"
	ReasonNotAnObject     Reason = "not_an_object"
	ReasonUnexpectedValue Reason = "unexpected_value" // a JSON type that the log format does not have
	ReasonUnknownType     Reason = "unknown_record_type"
	ReasonNoSession       Reason = "no_session_id"
	ReasonBadID           Reason = "bad_id"
	ReasonNoMessage       Reason = "no_message"
	ReasonDuplicateRecord Reason = "duplicate_record"
	ReasonFactTooLarge    Reason = "fact_too_large"     // other facts of the line are imported
	ReasonNoTime          Reason = "no_timestamp"       // imported with the session's last known time, if it has one
	ReasonNoUUID          Reason = "no_uuid"            // imported with an id from the line number
	ReasonNoMessageID     Reason = "no_message_id"      // imported; the record's id becomes the call's id
	ReasonNegativeUsage   Reason = "negative_usage"     // imported with that count unknown
	ReasonBadUsage        Reason = "bad_usage"          // imported with that count unknown
	ReasonUnknownBlock    Reason = "unknown_block_type" // imported as an entry of unknown size
	ReasonUsageGap        Reason = "usage_gap"          // imported; the log's total is larger than the sum of its calls
	ReasonNothingElided   Reason = "nothing_elided"
	ReasonUnprovenWindow  Reason = "unproven_window" // imported with the window that the messages of the log give
)

// A Problem is content that could not be imported unchanged. Detail explains the problem without
// quoting content of the log.
type Problem struct {
	File   string
	Line   int // from 1; 0 for the file as a whole
	Reason Reason
	Detail string
}

// String returns "file:line: reason: detail".
func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Detail == "" {
		return fmt.Sprintf("%s: %s", at, p.Reason)
	}
	return fmt.Sprintf("%s: %s: %s", at, p.Reason, p.Detail)
}
