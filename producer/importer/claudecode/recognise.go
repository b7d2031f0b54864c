package claudecode

import "github.com/ctxledger/ctxledger/producer/importer/model"

// Recogniser recognises a Claude Code log.
var Recogniser = model.Recogniser{
	Format: model.FormatClaudeCode,
	Tells: func(name string, _ model.Members) bool {
		return name == "sessionId" || name == "parentUuid" || name == "leafUuid"
	},
	Recognises: func(seen model.Members) bool {
		kind := seen["type"]
		return seen.Has("type") && claudeTypes[kind] != classUnknown &&
			(seen.Has("uuid") || kind == "summary" || kind == "file-history-snapshot" || kind == "queue-operation")
	},
}
