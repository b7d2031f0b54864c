package read_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestOneOrderOfFidelity: every statement orders the records of a call by the ranks of schema. The order is
// written out in each of them, because a view or function for it would be planned again in each query.
func TestOneOrderOfFidelity(t *testing.T) {
	t.Parallel()
	words := []schema.Fidelity{
		schema.FidelityReconstructed, schema.FidelityReported, schema.FidelityStated, schema.FidelitySerialized, schema.FidelityWire,
	}
	slices.SortFunc(words, func(a, b schema.Fidelity) int { return cmp.Compare(a.Rank(), b.Rank()) })
	var ranks, quoted []string
	for i, word := range words {
		if word.Rank() != i {
			t.Fatalf("%s has rank %d", word, word.Rank())
		}
		rank := fmt.Sprintf("fidelity = '%s', %d", word, i+1)
		if word == schema.FidelityReconstructed { // also records of imports from before the word
			rank = fmt.Sprintf("fidelity = '%s' OR startsWith(source, 'urn:ctxledger:import:'), %d", word, i+1)
		}
		ranks, quoted = append(ranks, rank), append(quoted, fmt.Sprintf("'%s'", word))
	}
	// Other records without the word are stated by the runtime. Unknown words come last.
	byColumn := fmt.Sprintf("multiIf(%s, fidelity = '', %d, %d)", strings.Join(ranks, ", "), schema.FidelityStated.Rank()+1, len(words)+1)
	byName := regexp.MustCompile(regexp.QuoteMeta("(indexOf(["+strings.Join(quoted, ", ")+"], ") + `[a-z0-9.]+\) \+ 5\) % 6`)
	space, bracket := regexp.MustCompile(`\s+`), regexp.MustCompile(`\( | \)`)
	found := 0
	for _, folder := range []string{"../../queries", ".."} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".sql" {
				return err
			}
			text, err := os.ReadFile(path)
			statement := bracket.ReplaceAllStringFunc(space.ReplaceAllString(string(text), " "), strings.TrimSpace)
			found += strings.Count(statement, byColumn) + len(byName.FindAllString(statement, -1))
			statement = byName.ReplaceAllString(strings.ReplaceAll(statement, byColumn, ""), "")
			if strings.Contains(statement, "'serialized'") {
				t.Errorf("%s has another order of fidelity than\n%s", path, byColumn)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 9 {
		t.Errorf("only %d orders of fidelity", found)
	}
}
