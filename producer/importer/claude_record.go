package importer

import "time"

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

func (r *claudeRecord) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.string(&r.Type)
		case "subtype":
			return c.string(&r.Subtype)
		case "uuid":
			return c.string(&r.UUID)
		case "parentUuid":
			return c.string(&r.ParentUUID)
		case "logicalParentUuid":
			return c.string(&r.LogicalParentUUID)
		case "sessionId":
			return c.string(&r.SessionID)
		case "agentId":
			return c.string(&r.AgentID)
		case "timestamp":
			return c.string(&r.Timestamp)
		case "version":
			return c.string(&r.Version)
		case "cwd":
			return c.string(&r.Cwd)
		case "gitBranch":
			return c.string(&r.GitBranch)
		case "slug":
			return c.string(&r.Slug)
		case "requestId":
			return c.string(&r.RequestID)
		case "sourceToolUseID":
			return c.string(&r.SourceToolUseID)
		case "isSidechain":
			return c.bool(&r.IsSidechain)
		case "isMeta":
			return c.bool(&r.IsMeta)
		case "isCompactSummary":
			return c.bool(&r.IsCompactSummary)
		case "message":
			return readNew(c, &r.Message, (*claudeMessage).read)
		case "attachment":
			return c.span(&r.Attachment)
		case "compactMetadata":
			return c.into(&r.Compact)
		case "microcompactMetadata":
			return c.into(&r.Microcompact)
		}
		return c.skip()
	})
}

type claudeMessage struct {
	ID         string `json:"id"`
	Model      string `json:"model"`
	Role       string `json:"role"`
	StopReason string `json:"stop_reason"`
	Content    span   `json:"content"` // a string or an array of blocks
	Usage      span   `json:"usage"`
}

func (m *claudeMessage) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.string(&m.ID)
		case "model":
			return c.string(&m.Model)
		case "role":
			return c.string(&m.Role)
		case "stop_reason":
			return c.string(&m.StopReason)
		case "content":
			return c.span(&m.Content)
		case "usage":
			return c.span(&m.Usage)
		}
		return c.skip()
	})
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
	message := nativeID{member: "message.id"}
	if r.Message != nil {
		message.id = r.Message.ID
	}
	if problem := refused(nativeID{"uuid", r.UUID}, nativeID{"parentUuid", r.ParentUUID}, nativeID{"logicalParentUuid", r.LogicalParentUUID},
		nativeID{"sessionId", r.SessionID}, nativeID{"agentId", r.AgentID}, nativeID{"sourceToolUseID", r.SourceToolUseID}, message); problem != nil {
		return problem
	}
	return nil
}

// time returns the record's timestamp, and false when it has none that a
// ledger can hold.
func (r *claudeRecord) time() (time.Time, bool) { return parseTime(r.Timestamp) }
