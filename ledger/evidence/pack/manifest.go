package pack

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// ManifestFiles returns the files in a manifest, at most a number of them. The other members
// are ignored, because verification derives them again like the other documents. A manifest
// with more files is an error before the files take memory.
func ManifestFiles(manifest []byte, most int) ([]File, error) {
	files := boundedList{most: most}
	m := struct {
		Files *boundedList `json:"files"`
	}{&files}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return files.list, nil
}

// boundedList is the list of files, with an end to its length.
type boundedList struct {
	list []File
	most int
}

// UnmarshalJSONFrom reads one file at a time.
func (l *boundedList) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	if from.PeekKind() != '[' {
		return json.UnmarshalDecode(from, &l.list)
	}
	if _, err := from.ReadToken(); err != nil {
		return err
	}
	for from.PeekKind() != ']' {
		if len(l.list) == l.most {
			return fmt.Errorf("more than %d files, which no pack may have", l.most)
		}
		var f File
		if err := json.UnmarshalDecode(from, &f); err != nil {
			return err
		}
		l.list = append(l.list, f)
	}
	_, err := from.ReadToken()
	return err
}
