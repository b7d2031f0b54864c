package importer

// sweRecogniser tells a SWE-agent log.
var sweRecogniser = recogniser{
	format: FormatSWEAgent,
	tells: func(name string, _ members) bool {
		return name == "trajectory" || name == "attempts" || name == "trajectory_format" || name == "replay_config"
	},
	recognises: func(seen members) bool { return seen.has("messages", "info") },
}
