package importer

// codexRecogniser tells a Codex log.
var codexRecogniser = recogniser{
	format: FormatCodex,
	tells:  func(string, members) bool { return false },
	recognises: func(seen members) bool {
		switch seen["type"] {
		case codexMeta, codexItem, codexEvent, codexContext, codexCompacted:
			if seen.has("type", "payload") {
				return true
			}
		}
		return seen.has("record_type") || seen.has("id", "timestamp", "instructions") && !seen.has("type")
	},
}
