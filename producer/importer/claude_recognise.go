package importer

// claudeRecogniser tells a Claude Code log.
var claudeRecogniser = recogniser{
	format: FormatClaudeCode,
	tells: func(name string, _ members) bool {
		return name == "sessionId" || name == "parentUuid" || name == "leafUuid"
	},
	recognises: func(seen members) bool {
		kind := seen["type"]
		return seen.has("type") && claudeTypes[kind] != classUnknown &&
			(seen.has("uuid") || kind == "summary" || kind == "file-history-snapshot" || kind == "queue-operation")
	},
}
