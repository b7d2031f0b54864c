package claudecode

import (
	"bytes"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"time"
)

// claudeIndex holds the values that pass 1 collects and pass 2 needs in advance. claudeIndex
// grows with the number of calls, not with the size of their text.
type claudeIndex struct {
	usage     map[callKey]claudeBest
	summaries map[string]string    // boundary → the summary that follows it
	firstTime map[string]time.Time // first time of each session
	threads   *threadFinder
	boundary  map[model.ThreadKey]string // last boundary, while only ignored records follow
	short     indexRecord                // buffer for the next record
	long      claudeRecord               // buffer for the next full record
	message   claudeMessage              // buffer for the message of long
	requests  bool                       // the log records requests
	lines     *jsonscan.Lines
}

type callKey struct{ session, call string }

// indexRecord holds the members of a record that pass 1 reads.
type indexRecord struct {
	Type             string        `json:"type"`
	Subtype          string        `json:"subtype"`
	UUID             string        `json:"uuid"`
	ParentUUID       string        `json:"parentUuid"`
	SessionID        string        `json:"sessionId"`
	AgentID          string        `json:"agentId"`
	Timestamp        string        `json:"timestamp"`
	IsSidechain      bool          `json:"isSidechain"`
	IsCompactSummary bool          `json:"isCompactSummary"`
	Message          *indexMessage `json:"message"`
	Data             jsonscan.Span `json:"data"`
}

func (r *indexRecord) Read(c *jsonscan.Cursor) bool {
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
		case "sessionId":
			return c.Text(&r.SessionID)
		case "agentId":
			return c.Text(&r.AgentID)
		case "timestamp":
			return c.Text(&r.Timestamp)
		case "isSidechain":
			return c.Bool(&r.IsSidechain)
		case "isCompactSummary":
			return c.Bool(&r.IsCompactSummary)
		case "message":
			return jsonscan.ReadNew(c, &r.Message, (*indexMessage).Read)
		case "data":
			return c.Span(&r.Data)
		}
		return c.Skip()
	})
}

// indexMessage is [claudeMessage] without its content.
type indexMessage struct {
	ID         string        `json:"id"`
	Role       string        `json:"role"`
	StopReason string        `json:"stop_reason"`
	Usage      jsonscan.Span `json:"usage"`
}

func (m *indexMessage) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.Text(&m.ID)
		case "role":
			return c.Text(&m.Role)
		case "stop_reason":
			return c.Text(&m.StopReason)
		case "usage":
			return c.Span(&m.Usage)
		}
		return c.Skip()
	})
}

func newClaudeIndex(lines *jsonscan.Lines) *claudeIndex {
	return &claudeIndex{
		lines:     lines,
		usage:     make(map[callKey]claudeBest),
		summaries: make(map[string]string),
		firstTime: make(map[string]time.Time),
		threads:   newThreadFinder(),
		boundary:  make(map[model.ThreadKey]string),
	}
}

// line adds one line to the index. Pass 2 reports the lines that cannot be read.
func (x *claudeIndex) line(line []byte, number int, _ bool) error {
	x.short = indexRecord{}
	if model.DecodeRecord(x.lines, line, &x.short, false) == nil {
		x.short.unwrap()
		x.requests = x.requests || x.short.Type == "api-request"
		x.Add(number)
	}
	return nil
}

func (x *claudeIndex) Add(number int) {
	rec := &x.long
	*rec = x.short.record(&x.message)
	if rec.checkIDs() != nil {
		return
	}
	key, ok := x.threads.find(rec)
	if !ok {
		return
	}
	if t, ok := rec.time(); ok && x.firstTime[key.Session].IsZero() {
		x.firstTime[key.Session] = t
	}
	switch claudeTypes[rec.kind()] {
	case classCompaction:
		x.boundary[key] = rec.id(key, number)
	case classMessage:
		if at := x.boundary[key]; at != "" && rec.IsCompactSummary {
			x.summaries[at] = rec.id(key, number)
		}
		delete(x.boundary, key)
		if rec.Type != "assistant" || rec.Message == nil {
			return
		}
		call := callKey{key.Session, rec.callID(key, number)}
		output := outputOf(rec.Message)
		best, known := x.usage[call]
		if known && output <= best.output {
			return
		}
		if !bytes.Equal(best.usage, rec.Message.Usage) {
			best.usage = bytes.Clone(rec.Message.Usage)
		}
		x.usage[call] = claudeBest{best.usage, rec.Message.StopReason, number, output}
	}
}

// claudeBest is the record of a call with the most output tokens. A log may have hundreds of
// thousands of calls, so claudeBest holds only the text of the usage.
type claudeBest struct {
	usage  []byte
	stop   string
	line   int
	output int64 // -1 when unknown
}

// take returns the usage of a call and removes it from the index, since a call is emitted once.
// take returns nil for a call that pass 1 did not see.
func (x *claudeIndex) take(session, call string) *claudeUsage {
	key := callKey{session, call}
	best, known := x.usage[key]
	if !known {
		return nil
	}
	delete(x.usage, key)
	return parseUsage(&claudeMessage{Usage: best.usage, StopReason: best.stop}, best.line)
}

// record returns the record with the members of r. Its message is in room.
func (r *indexRecord) record(room *claudeMessage) claudeRecord {
	rec := claudeRecord{
		Type: r.Type, Subtype: r.Subtype, UUID: r.UUID, ParentUUID: r.ParentUUID, SessionID: r.SessionID,
		AgentID: r.AgentID, Timestamp: r.Timestamp, IsSidechain: r.IsSidechain, IsCompactSummary: r.IsCompactSummary,
	}
	if r.Message != nil {
		*room = claudeMessage{ID: r.Message.ID, StopReason: r.Message.StopReason, Usage: r.Message.Usage}
		rec.Message = room
	}
	return rec
}
