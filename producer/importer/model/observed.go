package model

import (
	"fmt"

	"github.com/ctxledger/ctxledger/schema"
)

// SourceOf returns the source of events of a session that a parser makes itself.
func SourceOf(w *Writer, session string) string { return logSource(w.tool.name, session) + w.telling }

// Emit emits an event that a parser made itself, and counts it for w. line is the line of the event's
// record.
func Emit(w *Writer, line int, e *schema.Event, fact schema.Fact) error {
	if err := w.emit(e); err != nil {
		w.Failed = fmt.Errorf("emit a fact of line %d of %s: %w", line, w.file, err)
		return w.Failed
	}
	w.Report.Facts++
	w.Report.session(e.SessionID)
	switch f := fact.(type) {
	case *schema.UsageRecorded:
		w.Report.Call(e.SessionID, f.CallID, f.Usage)
	case *schema.ItemAdded:
		switch {
		case e.ToolCallID == "":
		case f.Item.ContextKind == "tool_call":
			w.Report.tool(e.SessionID, e.ToolCallID, toolUsed)
		case f.Item.ContextKind == "tool_result":
			w.Report.tool(e.SessionID, e.ToolCallID, toolAnswered)
		}
	case *schema.CompactionCompleted:
		w.Report.boundary(e.SessionID, f.CompactionID, boundaryCompaction)
	case *schema.SummaryCreated:
		w.Report.boundary(e.SessionID, f.SummaryID, boundarySummary)
	case *schema.ElisionApplied:
		w.Report.boundary(e.SessionID, f.PassID, boundaryElision)
	}
	return nil
}
