package migrate

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed sql
var files embed.FS

// A release is the state of a database for one version of the program.
type release struct {
	tables      []table
	changes     []change     // in the order of their numbers
	definitions []definition // each after all that it needs
	retired     []string     // views of earlier versions
	views       []View       // in the order of the catalogue
}

// A table is a file of tables/.
type table struct{ name, statement string }

// A change is a number that some version has recorded: a file of changes/ or of
// legacy/, or a name of legacy/numbers.txt.
type change struct {
	version    uint32
	name       string // NNNN_verb
	file       string // '' where nothing is left to do
	digest     string // SHA-256 of the file, hex
	statements []string
}

// current is the release of this program. Contradictions are programming errors, found by the
// first test.
var current = sync.OnceValue(func() *release {
	sql, err := fs.Sub(files, "sql")
	if err != nil {
		panic(err)
	}
	r, err := readRelease(sql)
	if err != nil {
		panic("ledger/migrate/sql: " + err.Error())
	}
	return r
})

// Latest returns the name of the newest change.
func Latest() string {
	changes := current().changes
	return changes[len(changes)-1].name
}

// readRelease reads the files of sql/.
func readRelease(sql fs.FS) (*release, error) {
	var r release
	err := eachFile(sql, "tables", func(name, text string) error {
		one, err := single(text, "CREATE TABLE IF NOT EXISTS "+name)
		r.tables = append(r.tables, table{name, one})
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.changes, err = readChanges(sql); err != nil {
		return nil, err
	}
	if err := r.readDefinitions(sql); err != nil {
		return nil, err
	}
	r.retired, err = readList(sql, "retired.txt")
	return &r, err
}

// readChanges reads the changes of released versions, in the order of their numbers.
func readChanges(sql fs.FS) ([]change, error) {
	names, err := readList(sql, "legacy/numbers.txt")
	if err != nil {
		return nil, err
	}
	byName := make(map[string]change)
	for _, name := range names {
		byName[name] = change{name: name}
	}
	for _, folder := range []string{"legacy", "changes"} {
		err := eachFile(sql, folder, func(name, text string) error {
			if _, listed := byName[name]; listed != (folder == "legacy") {
				return fmt.Errorf("legacy/numbers.txt has the names of legacy/, and no other")
			}
			sum := sha256.Sum256([]byte(text))
			byName[name] = change{name: name, file: folder + "/" + name, digest: hex.EncodeToString(sum[:]), statements: Split(text)}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var list []change
	for name, c := range byName {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: the name must start with a number", name)
		}
		c.version = uint32(version)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.name, b.name) })
	for i, c := range list[1:] {
		if c.version <= list[i].version {
			return nil, fmt.Errorf("%s and %s: numbers have four digits, and each only once", list[i].name, c.name)
		}
	}
	return list, nil
}

// eachFile calls f with the name, without .sql, and the text of each SQL file of a folder.
func eachFile(sql fs.FS, folder string, f func(name, text string) error) error {
	names, err := fs.Glob(sql, folder+"/*.sql")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(sql, name)
		if err == nil {
			err = f(strings.TrimSuffix(path.Base(name), ".sql"), string(text))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// single returns the only statement of a file, which begins as wanted.
func single(text, begin string) (string, error) {
	list := Split(text)
	if len(list) != 1 || !slices.Equal(firstWords(list[0], begin), strings.Fields(begin)) {
		return "", fmt.Errorf("want one statement, %s …", begin)
	}
	return list[0], nil
}

func firstWords(text, like string) []string {
	words, n := strings.Fields(text), len(strings.Fields(like))
	return words[:min(n, len(words))]
}

// readList reads a text file of one name a line; # begins a comment.
func readList(sql fs.FS, name string) (list []string, err error) {
	text, err := fs.ReadFile(sql, name)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list, err
}
