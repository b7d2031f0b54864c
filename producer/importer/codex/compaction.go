package codex

import (
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// compacted imports a compaction. The record holds the complete window after the compaction,
// including items that stay unchanged.
func (im *codexImport) compacted(o *model.Origin, e *codexEntry) error {
	replacement, problems := im.replacement(e)
	for _, p := range problems {
		im.Problem(o.Line, p)
	}
	kept := keep(&im.thread.Log, replacement)
	c := &model.Compaction{
		ID: e.record, Method: schema.MethodAbstractiveSummary, Policy: "replace_window", Extra: make(map[string]any),
		Retained: func(entry *model.Entry) bool { return entry.Layer == model.LayerSystem || kept[entry.Record] },
	}
	if e.compacted.Replacement != nil {
		c.Extra["replacement_items"] = len(e.compacted.Replacement)
	}
	var summary []model.Piece
	if e.compacted.Replacement == nil && e.compacted.Message != "" {
		p := model.Piece{ID: e.record + ":summary", Name: []string{"summary"}, Kind: "computed_summary", Layer: model.LayerSummary, ItemType: model.ItemMessage, Role: "user", Title: "Compaction summary"}
		p.SetLogged(e.compacted.Message)
		summary = append(summary, p)
	}
	for _, m := range replacement {
		if !m.kept {
			summary = append(summary, m.pieces...)
		}
	}
	for i := range summary {
		if summary[i].Layer == model.LayerSummary {
			c.Summary = schema.Ref(e.record)
		}
	}
	if c.Summary == "" { // the kept items replace the others
		c.Method = schema.MethodExtractiveSummary
	}
	if err := im.Compaction(o, c); err != nil {
		return err
	}
	var text model.SummaryText
	for i := range summary {
		item, err := im.Piece(o, &summary[i], "")
		if err != nil {
			return err
		}
		if item != nil {
			text.Add(&summary[i], item)
		}
	}
	if c.Summary == "" {
		return nil
	}
	return im.Summary(o, e.record, &text)
}

// replaced is one message of a replacement history.
type replaced struct {
	pieces []model.Piece
	kept   bool // the window already holds the message
}

// replacement reads the replacement history. The program selects earlier messages, so a message
// can come from any kind of record.
func (im *codexImport) replacement(e *codexEntry) (list []*replaced, problems []*model.LineError) {
	for n := range e.compacted.Replacement {
		i := &e.compacted.Replacement[n]
		if i.class() == codexIgnored {
			continue
		}
		if problem := model.Refused(model.NativeID{Member: "call_id in replacement_history", ID: i.CallID}); problem != nil {
			problems = append(problems, problem)
			continue
		}
		if i.class() == codexUnknown {
			problems = append(problems, model.NewLineError(model.ReasonUnknownType, "type "+model.Quoted(i.Type)+" in replacement_history"))
			continue
		}
		id := e.record + ":" + model.Itoa(n)
		pieces, wrong := i.pieces(id, true, im.toolName)
		problems = append(problems, wrong...)
		for p := range pieces {
			pieces[p].Name = append([]string{model.Itoa(n)}, pieces[p].Name...)
			if pieces[p].ToolCall != "" { // another copy of a call with an item
				pieces[p].ID = id + ":" + model.Itoa(p)
			}
		}
		list = append(list, &replaced{pieces: pieces})
	}
	return list, problems
}

// keep marks the messages that the window holds, each once and in order. keep returns the hashes
// of the records that hold these messages.
func keep(l *model.ItemLog, list []*replaced) map[uint64]bool {
	held := make(map[uint64][]uint64) // text of a record → records with the text
	for i := 0; i < l.Window.Len(); {
		record, texts := l.Window.At(i).Record, uint64(0)
		for ; i < l.Window.Len() && l.Window.At(i).Record == record; i++ {
			texts = texts*31 + l.Window.At(i).Text
		}
		held[texts] = append(held[texts], record)
	}
	kept := make(map[uint64]bool)
	for _, m := range list {
		texts, known := uint64(0), false
		for i := range m.pieces {
			h := uint64(0)
			if t := m.pieces[i].Text; t != nil {
				h, known = model.HashOf(*t), true
			}
			texts = texts*31 + h
		}
		if records := held[texts]; known && len(records) > 0 {
			held[texts], m.kept = records[1:], true
			kept[records[0]] = true
		}
	}
	return kept
}
