package sweagent

import "github.com/ctxledger/ctxledger/producer/importer/model"

// Recogniser recognises a SWE-agent log.
var Recogniser = model.Recogniser{
	Format: model.FormatSWEAgent,
	Tells: func(name string, _ model.Members) bool {
		return name == "trajectory" || name == "attempts" || name == "trajectory_format" || name == "replay_config"
	},
	Recognises: func(seen model.Members) bool { return seen.Has("messages", "info") },
}
