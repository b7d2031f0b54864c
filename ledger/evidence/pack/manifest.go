package pack

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// A File is an entry of the manifest.
type File struct {
	Path      string `json:"path"` // with slashes, below the pack
	Role      string `json:"role"` // [Role]
	MediaType string `json:"media_type,omitempty"`
	Size      int64  `json:"size"`                 // bytes
	Hash      string `json:"hash"`                 // "sha256:" and hexadecimal digits
	SchemaRef string `json:"schema_ref,omitempty"` // $id of the schema that its documents meet
}

// HashPrefix begins the hash of a [File].
const HashPrefix = "sha256:"

// ManifestFiles returns the files that a manifest lists. Its other members are
// not read: they are derived as the other documents are.
func ManifestFiles(manifest []byte) ([]File, error) {
	var m struct {
		Files []File `json:"files"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return m.Files, nil
}
