package schema

import "embed"

//go:embed golden/*.json
var goldenFiles embed.FS

// Golden returns a realistic event of type t in the CloudEvents JSON format,
// indented to be read, or nil when t is not known. Together the golden events
// are one turn of a coding agent. The caller may change the bytes.
func Golden(t Type) []byte {
	text, err := goldenFiles.ReadFile("golden/" + string(t) + ".json")
	if err != nil {
		return nil
	}
	return text
}
