package importer

import (
	"fmt"
	"time"
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
	Attachment        span           `json:"attachment"`
	Compact           *claudeCompact `json:"compactMetadata"`
	Microcompact      *claudeElision `json:"microcompactMetadata"`
}

type claudeMessage struct {
	ID         string `json:"id"`
	Model      string `json:"model"`
	Role       string `json:"role"`
	StopReason string `json:"stop_reason"`
	Content    span   `json:"content"` // a string or an array of blocks
	Usage      span   `json:"usage"`
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
func (r *claudeRecord) time() (time.Time, bool) { return parseTime(r.Timestamp) }
