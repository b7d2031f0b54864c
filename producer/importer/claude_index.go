package importer

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// claudeIndex is what pass 1 learns about a log and pass 2 needs ahead of
// time. It grows with the number of calls, not with the size of their text.
type claudeIndex struct {
	usage     map[callKey]*claudeUsage
	summaries map[string]string    // boundary → the summary that follows it
	firstTime map[string]time.Time // of each session
	bytes     int64                // that pass 2 may read: a live log grows meanwhile
}

type callKey struct{ session, call string }

// indexRecord is the part of a record that pass 1 reads.
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
}

// indexMessage is [claudeMessage] without its content.
type indexMessage struct {
	ID         string         `json:"id"`
	StopReason string         `json:"stop_reason"`
	Usage      jsontext.Value `json:"usage"`
}

func buildClaudeIndex(ctx context.Context, lines *lineReader, progress func(int64)) (*claudeIndex, error) {
	index := &claudeIndex{
		usage:     make(map[callKey]*claudeUsage),
		summaries: make(map[string]string),
		firstTime: make(map[string]time.Time),
	}
	threads := newThreadFinder()
	boundary := make(map[threadKey]string) // the last one, while nothing but ignored records follows
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			index.bytes = lines.read
			return index, nil
		}
		progress(lines.read)
		if err == errLineTooLong {
			continue
		}
		if err != nil {
			return nil, err
		}
		index.add(line, lines.number, threads, boundary)
	}
}

// add learns from one line. Lines that cannot be read are pass 2's to report.
func (x *claudeIndex) add(line []byte, number int, threads *threadFinder, boundary map[threadKey]string) {
	var short indexRecord
	if decodeRecord(line, &short, false) != nil {
		return
	}
	rec := short.record()
	if rec.checkIDs() != nil {
		return
	}
	key, ok := threads.find(rec)
	if !ok {
		return
	}
	if t, ok := rec.time(); ok && x.firstTime[key.session].IsZero() {
		x.firstTime[key.session] = t
	}
	switch claudeTypes[rec.kind()] {
	case classCompaction:
		boundary[key] = rec.id(key, number)
	case classMessage:
		if at := boundary[key]; at != "" && rec.IsCompactSummary {
			x.summaries[at] = rec.id(key, number)
		}
		delete(boundary, key)
		if rec.Type != "assistant" || rec.Message == nil {
			return
		}
		call := callKey{key.session, rec.callID(key, number)}
		usage := parseUsage(rec.Message, number)
		if best := x.usage[call]; best == nil || usage.output() > best.output() {
			x.usage[call] = usage
		}
	}
}

func (r *indexRecord) record() *claudeRecord {
	rec := &claudeRecord{
		Type: r.Type, Subtype: r.Subtype, UUID: r.UUID, ParentUUID: r.ParentUUID, SessionID: r.SessionID,
		AgentID: r.AgentID, Timestamp: r.Timestamp, IsSidechain: r.IsSidechain, IsCompactSummary: r.IsCompactSummary,
	}
	if r.Message != nil {
		rec.Message = &claudeMessage{ID: r.Message.ID, StopReason: r.Message.StopReason, Usage: r.Message.Usage}
	}
	return rec
}
