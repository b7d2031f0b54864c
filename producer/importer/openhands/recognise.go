package openhands

import "github.com/ctxledger/ctxledger/producer/importer/model"

// Recogniser recognises an OpenHands log.
var Recogniser = model.Recogniser{
	Format: model.FormatOpenHands,
	Tells: func(name string, seen model.Members) bool {
		return (name == "test_result" || name == "instance_id") && seen.Has("metadata")
	},
	Recognises: func(seen model.Members) bool {
		_, sdk := ohKinds[ohWord(seen["kind"])]
		return seen.Has("kind", "source") && sdk ||
			seen.Has("action", "args") || seen.Has("observation", "content") || seen.Has("action", "source") || seen.Has("observation", "source")
	},
}
