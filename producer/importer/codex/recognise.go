package codex

import "github.com/ctxledger/ctxledger/producer/importer/model"

// Recogniser recognises a Codex log.
var Recogniser = model.Recogniser{
	Format: model.FormatCodex,
	Tells:  func(string, model.Members) bool { return false },
	Recognises: func(seen model.Members) bool {
		switch seen["type"] {
		case codexMeta, codexItem, codexEvent, codexContext, codexCompacted:
			if seen.Has("type", "payload") {
				return true
			}
		}
		return seen.Has("record_type") || seen.Has("id", "timestamp", "instructions") && !seen.Has("type")
	},
}
