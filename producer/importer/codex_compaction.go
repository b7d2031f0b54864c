package importer

import (
	"github.com/ctxledger/ctxledger/schema"
)

// compacted imports a compaction: what stands in the window from now on is in
// the log, items that stay as they are among it.
func (im *codexImport) compacted(o *origin, e *codexEntry) error {
	replacement, problems := im.replacement(e)
	for _, p := range problems {
		im.problem(o.line, p)
	}
	kept := keep(&im.thread.log, replacement)
	c := &compaction{
		id: e.record, method: schema.MethodAbstractiveSummary, policy: "replace_window", extra: make(map[string]any),
		retained: func(entry *entry) bool { return entry.layer == layerSystem || kept[entry.record] },
	}
	if e.compacted.Replacement != nil {
		c.extra["replacement_items"] = len(e.compacted.Replacement)
	}
	var summary []piece
	if e.compacted.Replacement == nil && e.compacted.Message != "" {
		p := piece{id: e.record + ":summary", name: []string{"summary"}, kind: "computed_summary", layer: layerSummary, itemType: itemMessage, role: "user", title: "Compaction summary"}
		p.setLogged(e.compacted.Message)
		summary = append(summary, p)
	}
	for _, m := range replacement {
		if !m.kept {
			summary = append(summary, m.pieces...)
		}
	}
	for i := range summary {
		if summary[i].layer == layerSummary {
			c.summary = schema.Ref(e.record)
		}
	}
	if c.summary == "" { // the items that are kept stand for the others
		c.method = schema.MethodExtractiveSummary
	}
	if err := im.compaction(o, c); err != nil {
		return err
	}
	var text summaryText
	for i := range summary {
		item, err := im.piece(o, &summary[i], "")
		if err != nil {
			return err
		}
		if item != nil {
			text.add(&summary[i], item)
		}
	}
	if c.summary == "" {
		return nil
	}
	return im.summary(o, e.record, &text)
}

// replaced is one message of a replacement history.
type replaced struct {
	pieces []piece
	kept   bool // the window holds it already
}

// replacement reads the replacement history. Its messages are the program's
// choice of earlier ones, so each is what a record of the log may be.
func (im *codexImport) replacement(e *codexEntry) (list []*replaced, problems []*lineError) {
	for n := range e.compacted.Replacement {
		i := &e.compacted.Replacement[n]
		if i.class() == codexIgnored {
			continue
		}
		if problem := refused(nativeID{"call_id in replacement_history", i.CallID}); problem != nil {
			problems = append(problems, problem)
			continue
		}
		if i.class() == codexUnknown {
			problems = append(problems, &lineError{ReasonUnknownType, "type " + quoteType(i.Type) + " in replacement_history"})
			continue
		}
		id := e.record + ":" + itoa(n)
		pieces, wrong := i.pieces(id, true, im.toolName)
		problems = append(problems, wrong...)
		for p := range pieces {
			pieces[p].name = append([]string{itoa(n)}, pieces[p].name...)
			if pieces[p].toolCall != "" { // another copy of a call that has its own item
				pieces[p].id = id + ":" + itoa(p)
			}
		}
		list = append(list, &replaced{pieces: pieces})
	}
	return list, problems
}

// keep marks the messages that the window holds, each once and in order, and
// returns the records that hold them, by hash.
func keep(l *itemLog, list []*replaced) map[uint64]bool {
	held := make(map[uint64][]uint64) // texts of a record → records with them
	for i := 0; i < l.window.len(); {
		record, texts := l.window.at(i).record, uint64(0)
		for ; i < l.window.len() && l.window.at(i).record == record; i++ {
			texts = texts*31 + l.window.at(i).text
		}
		held[texts] = append(held[texts], record)
	}
	kept := make(map[uint64]bool)
	for _, m := range list {
		texts, known := uint64(0), false
		for i := range m.pieces {
			h := uint64(0)
			if t := m.pieces[i].text; t != nil {
				h, known = hashOf(*t), true
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
