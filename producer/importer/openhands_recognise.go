package importer

// openHandsRecogniser tells an OpenHands log.
var openHandsRecogniser = recogniser{
	format: FormatOpenHands,
	tells: func(name string, seen members) bool {
		return (name == "test_result" || name == "instance_id") && seen.has("metadata")
	},
	recognises: func(seen members) bool {
		_, sdk := ohKinds[ohWord(seen["kind"])]
		return seen.has("kind", "source") && sdk ||
			seen.has("action", "args") || seen.has("observation", "content") || seen.has("action", "source") || seen.has("observation", "source")
	},
}
