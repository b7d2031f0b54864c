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
	SchemaRef string `json:"schema_ref,omitempty"` // $id of the schema of its documents
}

// HashPrefix is the prefix of the hash of a [File].
const HashPrefix = "sha256:"

// ManifestFiles returns the files in a manifest. The other members are ignored, because
// verification derives them again like the other documents.
func ManifestFiles(manifest []byte) ([]File, error) {
	var m struct {
		Files []File `json:"files"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return m.Files, nil
}
