package importer

// logs has what each format recognises, in the order in which they are asked.
var logs = []recogniser{codexRecogniser, openHandsRecogniser, claudeRecogniser, sweRecogniser}
