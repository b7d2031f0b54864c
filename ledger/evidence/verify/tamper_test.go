package verify

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// These variables set the number of changes, packs and records. The defaults take a few seconds.
const (
	tampersVariable = "CTXLEDGER_TAMPERS" // number of changes to a pack; 2000 for the full test
	recordsVariable = "CTXLEDGER_RECORDS" // records of the pack; 10000 for the full test
	packsVariable   = "CTXLEDGER_PACKS"   // unchanged packs; 200 for the full test
)

func number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" && testing.Short() {
		return otherwise / 4
	}
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%q: want a number", variable, text)
	}
	return n
}

func cleanPacks(t testing.TB) int { return number(t, packsVariable, 12) }

// tampered describes the change of a file: the lines first to last differ or have moved. Both are 0
// for a removed file.
type tampered struct {
	what, file  string
	first, last int64
}

func (d tampered) String() string {
	return fmt.Sprintf("%s in %s, lines %d–%d", d.what, d.file, d.first, d.last)
}

// tamper makes a random change to one file. It returns the new content, nil for a removed file.
func tamper(random *rand.Rand, file string, text []byte) ([]byte, tampered) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	i := random.IntN(max(len(lines), 1))
	at := int64(i + 1)
	what := random.IntN(10)
	if len(lines) < 2 && what > 5 {
		what = 0
	}
	switch {
	case what < 6:
		offset := random.IntN(len(text))
		line := int64(1 + bytes.Count(text[:offset], []byte("\n")))
		changed := bytes.Clone(text)
		changed[offset] ^= 1 << random.IntN(8)
		last := line
		if text[offset] == '\n' { // two lines become one
			last++
		}
		return changed, tampered{fmt.Sprintf("byte %d flipped from %q to %q", offset, text[offset], changed[offset]), file, line, last}
	case what == 6:
		return bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil), tampered{"line dropped", file, at, at}
	case what == 7:
		return bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil), tampered{"line doubled", file, at, at + 1}
	case what == 8:
		j := random.IntN(len(lines))
		changed := slices.Clone(lines)
		changed[i], changed[j] = changed[j], changed[i]
		return bytes.Join(changed, nil), tampered{"lines swapped", file, int64(min(i, j) + 1), int64(max(i, j) + 1)}
	}
	return nil, tampered{"file removed", file, 0, 0}
}

// TestTampering makes one change to a pack at a time. Each change is found. No fault names another
// file or an unrelated line.
func TestTampering(t *testing.T) {
	t.Parallel()
	r := sealed(t, filepath.Join(t.TempDir(), "pack"), false, number(t, recordsVariable, 100), 7)
	hold(t, r.verify(), nil)
	files := packFiles(t, r.target)
	random := rand.New(rand.NewPCG(11, 12))
	counts := make(map[string]int)
	for n := range number(t, tampersVariable, 100) {
		file := pick(random, files)
		original := r.read(file)
		if len(original) == 0 {
			continue
		}
		changed, done := tamper(random, file, original)
		if bytes.Equal(changed, original) && changed != nil {
			continue
		}
		if changed == nil {
			r.must(os.Remove(filepath.Join(r.target, file)))
		} else {
			r.replace(file, changed)
		}
		report := r.verify()
		r.replace(file, original)
		if problem := judge(report, done); problem != "" {
			t.Errorf("tampering %d: %v: %s\n%s", n, done, problem, faults(report))
		}
		counts[strings.SplitN(done.what, " ", 2)[0]+" "+filepath.Dir(file)]++
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", what, counts[what])
	}
}

// pick returns a random file, in half of the cases the records.
func pick(random *rand.Rand, files []string) string {
	if random.IntN(2) == 0 {
		return pack.EventsFile
	}
	return files[random.IntN(len(files))]
}

// judge checks the faults of a change. It returns "" if they name exactly the change, and the
// problem otherwise.
func judge(report *Report, done tampered) string {
	if !report.Failed() {
		return "not detected"
	}
	named := false
	for _, v := range report.Verdicts {
		for _, f := range v.Faults {
			if f.File != done.file {
				return fmt.Sprintf("%s blames another file: %+v", v.Question, f)
			}
			if f.Line != 0 && done.first != 0 && (f.Line < done.first || f.Line > done.last) {
				return fmt.Sprintf("%s blames another line: %+v", v.Question, f)
			}
			named = named || f.Line != 0
		}
	}
	if done.file == pack.EventsFile && done.first != 0 && !named {
		return "no record is named"
	}
	return ""
}

func faults(report *Report) (text string) {
	for _, v := range report.Verdicts {
		for _, f := range v.Faults {
			text += fmt.Sprintf("  %s %s:%d%s %s\n", v.Question, f.File, f.Line, f.Pointer, f.Reason)
		}
	}
	return text
}

func packFiles(t testing.TB, target string) (files []string) {
	t.Helper()
	r, err := pack.Open(target, pack.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, e := range r.Files() {
		files = append(files, e.Path)
	}
	return files
}
