package claudecode

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"time"
)

// claudeRecord is one line of a Claude Code session log of versions 2.0 and 2.1. Members without
// context facts are left out.
type claudeRecord struct {
	Type              string         `json:"type"`
	Subtype           string         `json:"subtype"` // for type system
	UUID              string         `json:"uuid"`
	ParentUUID        string         `json:"parentUuid"`
	LogicalParentUUID string         `json:"logicalParentUuid"` // the previous record, where a boundary cut the chain
	SessionID         string         `json:"sessionId"`
	AgentID           string         `json:"agentId"` // id of a sub-agent
	Timestamp         string         `json:"timestamp"`
	Version           string         `json:"version"`
	Cwd               string         `json:"cwd"`
	GitBranch         string         `json:"gitBranch"`
	Slug              string         `json:"slug"`
	RequestID         string         `json:"requestId"`
	RequestRef        string         `json:"requestRef"`      // id of the recorded request that the record answers
	SourceToolUseID   string         `json:"sourceToolUseID"` // the tool call that injected the text
	IsSidechain       bool           `json:"isSidechain"`
	IsMeta            bool           `json:"isMeta"`
	IsCompactSummary  bool           `json:"isCompactSummary"`
	IsAPIError        bool           `json:"isApiErrorMessage"`
	Message           *claudeMessage `json:"message"`
	Attachment        jsonscan.Span  `json:"attachment"`
	Data              jsonscan.Span  `json:"data"` // of a progress record
	wrapped           wrapping
	Compact           *claudeCompact `json:"compactMetadata"`
	Microcompact      *claudeElision `json:"microcompactMetadata"`
}

// wrapping names the progress record that holds a record.
type wrapping struct {
	inProgress         bool
	outer, outerParent string
}

func (r *claudeRecord) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.Text(&r.Type)
		case "subtype":
			return c.Text(&r.Subtype)
		case "uuid":
			return c.Text(&r.UUID)
		case "parentUuid":
			return c.Text(&r.ParentUUID)
		case "logicalParentUuid":
			return c.Text(&r.LogicalParentUUID)
		case "sessionId":
			return c.Text(&r.SessionID)
		case "agentId":
			return c.Text(&r.AgentID)
		case "timestamp":
			return c.Text(&r.Timestamp)
		case "version":
			return c.Text(&r.Version)
		case "cwd":
			return c.Text(&r.Cwd)
		case "gitBranch":
			return c.Text(&r.GitBranch)
		case "slug":
			return c.Text(&r.Slug)
		case "requestId":
			return c.Text(&r.RequestID)
		case "requestRef":
			return c.Text(&r.RequestRef)
		case "sourceToolUseID":
			return c.Text(&r.SourceToolUseID)
		case "isSidechain":
			return c.Bool(&r.IsSidechain)
		case "isMeta":
			return c.Bool(&r.IsMeta)
		case "isCompactSummary":
			return c.Bool(&r.IsCompactSummary)
		case "isApiErrorMessage":
			return c.Bool(&r.IsAPIError)
		case "message":
			return jsonscan.ReadNew(c, &r.Message, (*claudeMessage).Read)
		case "attachment":
			return c.Span(&r.Attachment)
		case "data":
			return c.Span(&r.Data)
		case "compactMetadata":
			return c.Into(&r.Compact)
		case "microcompactMetadata":
			return c.Into(&r.Microcompact)
		}
		return c.Skip()
	})
}

type claudeMessage struct {
	ID         string        `json:"id"`
	Model      string        `json:"model"`
	Role       string        `json:"role"`
	StopReason string        `json:"stop_reason"`
	Content    jsonscan.Span `json:"content"` // a string or an array of blocks
	Usage      jsonscan.Span `json:"usage"`
}

func (m *claudeMessage) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.Text(&m.ID)
		case "model":
			return c.Text(&m.Model)
		case "role":
			return c.Text(&m.Role)
		case "stop_reason":
			return c.Text(&m.StopReason)
		case "content":
			return c.Span(&m.Content)
		case "usage":
			return c.Span(&m.Usage)
		}
		return c.Skip()
	})
}

type claudeCompact struct {
	Trigger    string `json:"trigger"`
	PreTokens  *int64 `json:"preTokens"`
	PostTokens *int64 `json:"postTokens"`
	// Newer versions keep the tail of the conversation. Its two ends or its records are given.
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

// checkIDs returns a problem when one of the record's ids is not valid.
func (r *claudeRecord) checkIDs() error {
	message := model.NativeID{Member: "message.id"}
	if r.Message != nil {
		message.ID = r.Message.ID
	}
	if problem := model.Refused(model.NativeID{Member: "uuid", ID: r.UUID}, model.NativeID{Member: "parentUuid", ID: r.ParentUUID}, model.NativeID{Member: "logicalParentUuid", ID: r.LogicalParentUUID},
		model.NativeID{Member: "sessionId", ID: r.SessionID}, model.NativeID{Member: "agentId", ID: r.AgentID}, model.NativeID{Member: "sourceToolUseID", ID: r.SourceToolUseID}, model.NativeID{Member: "requestRef", ID: r.RequestRef}, message); problem != nil {
		return problem
	}
	return nil
}

// time returns the record's timestamp. time returns false without a timestamp that a ledger can
// hold.
func (r *claudeRecord) time() (time.Time, bool) { return model.ParseTime(r.Timestamp) }
