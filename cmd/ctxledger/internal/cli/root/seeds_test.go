package root_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/root"
)

// statements is how many each document has.
var statements = map[string]int{"000": 79, "001": 74, "002": 52, "003": 68, "004": 58}

// seedRow is a line of the tables in schema/SEEDS.md.
var seedRow = regexp.MustCompile(`^\| (\d{3})-(\d{3}) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)

// TestSeeds holds schema/SEEDS.md against the tree: every statement once, in order, and
// every symbol, view, query, command and test that it names is there.
func TestSeeds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(clitest.Repository("schema", "SEEDS.md"))
	if err != nil {
		t.Fatal(err)
	}
	tree := goTree{packages: make(map[string]map[string]bool), root: root.Command(&cli.App{})}
	count := make(map[string]int)
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| 0") {
			continue
		}
		row := seedRow.FindStringSubmatch(line)
		if row == nil {
			t.Errorf("no row: %s", line)
			continue
		}
		seed, id, asks, lives, test := row[1], row[1]+"-"+row[2], row[4], row[5], row[6]
		if count[seed]++; row[2] != pad(count[seed]) {
			t.Errorf("%s stands where %s-%s is due", id, seed, pad(count[seed]))
		}
		if strings.HasPrefix(asks, "the host's: ") {
			if lives != "–" || test != "–" {
				t.Errorf("%s is the host's, and names %s and %s", id, lives, test)
			}
			continue
		}
		for _, name := range strings.Split(lives, ", ") {
			if !tree.has(t, strings.Trim(name, "`")) {
				t.Errorf("%s names %s, which is not there", id, name)
			}
		}
		name, dir, _ := strings.Cut(test, " in ")
		if !tree.tests(t, strings.Trim(dir, "`"))[strings.Trim(name, "`")] {
			t.Errorf("%s names the test %s, which is not there", id, test)
		}
	}
	for seed, want := range statements {
		if count[seed] != want {
			t.Errorf("%d statements of %s, want %d", count[seed], seed, want)
		}
	}
}

func pad(n int) string {
	return string([]byte{'0' + byte(n/100), '0' + byte(n/10%10), '0' + byte(n%10)})
}

// goTree knows the names of packages by their folders, and the commands.
type goTree struct {
	packages map[string]map[string]bool
	root     *cobra.Command
}

// has reports whether there is what a row names: "view x", "table x", "query x", "command
// x y", or a package's symbol with a member.
func (g goTree) has(t *testing.T, name string) bool {
	t.Helper()
	kind, what, words := strings.Cut(name, " ")
	if !words {
		dir, symbol, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
		return g.names(t, filepath.Join(filepath.Dir(name), dir), false)[symbol]
	}
	switch kind {
	case "view":
		if check, is := strings.CutPrefix(what, "check_"); is {
			return exists(clitest.Repository("ledger", "migrate", "sql", "checks", check+".sql"))
		}
		return exists(clitest.Repository("ledger", "migrate", "sql", "views", what+".sql"))
	case "table":
		return exists(clitest.Repository("ledger", "migrate", "sql", "tables", what+".sql"))
	case "query":
		return exists(clitest.Repository("queries", what+".sql"))
	case "command":
		found, rest, err := g.root.Find(strings.Fields(what))
		return err == nil && len(rest) == 0 && found != g.root
	}
	return false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (g goTree) tests(t *testing.T, dir string) map[string]bool {
	t.Helper()
	return g.names(t, dir, true)
}

// names are the symbols of a folder, and its types' members; of tests, those of test files.
func (g goTree) names(t *testing.T, dir string, tests bool) map[string]bool {
	t.Helper()
	key := dir
	if tests {
		key += " tests"
	}
	if g.packages[key] != nil {
		return g.packages[key]
	}
	found := make(map[string]bool)
	g.packages[key] = found
	files, _ := filepath.Glob(clitest.Repository(dir, "*.go"))
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			declared(decl, found)
		}
	}
	return found
}

// declared adds what a declaration names.
func declared(decl ast.Decl, found map[string]bool) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if star, is := receiver.(*ast.StarExpr); is {
				receiver = star.X
			}
			if id, is := receiver.(*ast.Ident); is {
				name = id.Name + "." + name
			}
		}
		found[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				found[s.Name.Name] = true
				if st, is := s.Type.(*ast.StructType); is {
					for _, field := range st.Fields.List {
						for _, name := range field.Names {
							found[s.Name.Name+"."+name.Name] = true
						}
					}
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					found[name.Name] = true
				}
			}
		}
	}
}
