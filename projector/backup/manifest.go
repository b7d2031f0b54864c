package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Format is the newest version of the layout that this program reads. Backups of clusters have it. Others
// have an earlier one, because earlier versions of the program restore them, too.
const (
	Format            = 3
	formatIncremental = 2
	formatFull        = 1
)

const (
	manifestFile  = "manifest.json"
	sumFile       = "manifest.sha256"
	tablesFolder  = "tables"
	streamsFolder = "streams"
	partialFolder = ".partial"
)

// NamePrefix begins the name of every backup.
const NamePrefix = "backup-"

// ManifestFiles returns the names of the files of a manifest. The last one makes a backup whole.
func ManifestFiles() []string { return []string{sumFile, manifestFile} }

// The values of [Manifest.Keys].
const (
	keysLeftOut = "left out"
	keysSealed  = "encrypted"
)

// A Manifest describes a backup.
type Manifest struct {
	Format     int       `json:"format"`
	Name       string    `json:"name"`
	MadeAt     time.Time `json:"made_at"` // the end, by the clock of the program
	Version    string    `json:"version"` // of the program
	Migration  string    `json:"migration"`
	ClickHouse string    `json:"clickhouse"` // version of the server
	NATS       string    `json:"nats"`       // version of the server
	Keys       string    `json:"keys"`       // left out, or encrypted
	KeyNames   []string  `json:"key_names"`  // <tenant>/<key id> of the keys that existed
	Tables     []string  `json:"tables"`
	Shards     []Shard   `json:"shards,omitzero"` // of a cluster, in the order of their numbers
	Streams    []Stream  `json:"streams"`
	Files      []File    `json:"files"`         // in the order of their paths
	Base       Base      `json:"base,omitzero"` // the backup that an incremental one continues
}

// A Base is the backup that an incremental backup continues. It is in the same target.
type Base struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // of its manifest.json, in hex
}

// Incremental reports whether a restore of the backup needs its base.
func (m Manifest) Incremental() bool { return m.Base != Base{} }

// stream returns the copied stream of a name, or a zero one.
func (m Manifest) stream(name string) Stream {
	for _, s := range m.Streams {
		if s.Name == name {
			return s
		}
	}
	return Stream{Name: name}
}

// tablesOf returns the folder with the tables of a shard, or of a plain ledger, whose number is 0.
func tablesOf(shard uint32) string {
	if shard == 0 {
		return tablesFolder
	}
	return path.Join(tablesFolder, fmt.Sprint(shard))
}

// has reports whether the backup has a file.
func (m Manifest) has(file string) bool {
	_, found := slices.BinarySearchFunc(m.Files, file, func(f File, file string) int { return strings.Compare(f.Path, file) })
	return found
}

// A Shard is a shard of a cluster.
type Shard struct {
	Number  uint32   `json:"number"`
	Streams []string `json:"streams"` // names of the streams of events whose rows it has
}

// ShardOf returns the number of the shard with the rows of a stream of events, and 0 for a plain ledger.
func (m Manifest) ShardOf(stream string) uint32 {
	for _, s := range m.Shards {
		if slices.Contains(s.Streams, stream) {
			return s.Number
		}
	}
	return 0
}

// A Stream is a stream as it was copied. The fields from Incarnation on are set for streams of events.
type Stream struct {
	Name     string    `json:"name"`
	First    uint64    `json:"first"` // sequence of the first message
	Last     uint64    `json:"last"`  // sequence of the last message
	LastAt   time.Time `json:"last_at,omitzero"`
	Messages uint64    `json:"messages"`
	Bytes    uint64    `json:"bytes"` // of the messages in the stream
	// After is the last sequence of the base. The copy holds only the later messages. It is 0 if the copy
	// holds all messages.
	After uint64 `json:"after,omitzero"`

	Incarnation uuid.UUID `json:"incarnation,omitzero"`
	Committed   uint64    `json:"committed,omitzero"` // the sequence up to which the tables are exact
	LogSize     int64     `json:"log_size,omitzero"`  // leaves of the transparency log at Committed
	LogRoot     string    `json:"log_root,omitzero"`  // root at Committed, in hex
	Head        string    `json:"head,omitzero"`      // the newest signed tree head up to Committed
}

// through returns the sequence of each stream of events up to which the tables are exact.
func (m Manifest) through() map[string]uint64 {
	all := make(map[string]uint64)
	for _, s := range m.Streams {
		if s.HoldsEvents() {
			all[s.Incarnation.String()] = s.Committed
		}
	}
	return all
}

// HoldsEvents reports whether s is a stream of events.
func (s Stream) HoldsEvents() bool { return s.Incarnation != uuid.Nil }

// A File is a file of a backup.
type File struct {
	Path   string `json:"path"` // below the folder of the backup, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// Bytes returns the size of all files.
func (m Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Bytes
	}
	return n
}

var (
	// ErrNoBackup means that a folder holds no whole backup.
	ErrNoBackup = errors.New("no whole backup: `ctxledger backup list` shows the whole ones")
	// ErrLater means that a later version of the program made a backup.
	ErrLater = errors.New("a later version of ctxledger made this backup: use that version")
	// ErrChanged means that files of a backup are missing or changed.
	ErrChanged = errors.New("the backup is damaged: use another backup, or copy the named files again from where the backup came from")
)

func (m Manifest) write(dir string) error {
	text, err := json.Marshal(m, jsontext.WithIndent("  "), json.Deterministic(true), json.FormatNilSliceAsNull(false))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if err := writeFile(filepath.Join(dir, manifestFile), text); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, sumFile), []byte(hex.EncodeToString(sum[:])+"\n"))
}

func writeFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// ReadManifest reads the manifest of the backup in a folder. Errors: [ErrNoBackup], [ErrLater],
// [ErrChanged].
func ReadManifest(dir string) (Manifest, error) {
	m, _, err := readManifest(dir)
	return m, err
}

// readManifest is ReadManifest with the digest of the manifest, in hex.
func readManifest(dir string) (m Manifest, digest string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, "", fmt.Errorf("%s: %w", dir, ErrNoBackup)
	}
	if err != nil {
		return m, "", fmt.Errorf("read the manifest: %w", err)
	}
	want, err := os.ReadFile(filepath.Join(dir, sumFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, "", fmt.Errorf("read the manifest: %w", err)
	}
	sum := sha256.Sum256(text)
	digest = hex.EncodeToString(sum[:])
	if strings.TrimSpace(string(want)) != digest {
		return m, "", fmt.Errorf("%w: %s does not have the digest in %s", ErrChanged, manifestFile, sumFile)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return m, "", fmt.Errorf("%w: %s is not valid JSON", ErrChanged, manifestFile)
	}
	if head.Format > Format {
		return m, "", fmt.Errorf("%w: its format is %d, this program reads %d", ErrLater, head.Format, Format)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, "", fmt.Errorf("%w: %s does not have the fields of a manifest", ErrChanged, manifestFile)
	}
	return m, digest, nil
}
