package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sourceFiles has the Go files of each package of the repository, tests left out, by
// their folder.
func sourceFiles(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	folders := make(map[string][]string)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
			folder, _ := filepath.Rel(root, filepath.Dir(path))
			folders[filepath.ToSlash(folder)] = append(folders[filepath.ToSlash(folder)], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func TestPackagesStaySmall(t *testing.T) {
	t.Parallel()
	const limit = 25
	folders := sourceFiles(t)
	if len(folders) < 40 {
		t.Fatalf("only %d packages were found", len(folders))
	}
	for folder, files := range folders {
		if len(files) > limit {
			t.Errorf("%s has %d files; the limit is %d: give what stands for itself a package", folder, len(files), limit)
		}
	}
}

func TestTypesStaySmall(t *testing.T) {
	t.Parallel()
	const limit = 25
	methods := make(map[string]int)
	for folder, files := range sourceFiles(t) {
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
					methods[folder+"."+receiver(f.Recv.List[0].Type)]++
				}
			}
		}
	}
	for name, n := range methods {
		if n > limit {
			t.Errorf("%s has %d methods; the limit is %d: let a type own one thing", name, n, limit)
		}
	}
}

// records are types of more fields than others may have: rows, facts, configuration, what
// comes in over the wire, and results that are returned as plain data.
var records = map[string]string{
	"ledger/internal/row.Decision":              "a row",
	"producer/importer/claudecode.claudeRecord": "a line of a log",
	"producer/importer/codex.codexEntry":        "a line of a log",
	"producer/importer/codex.codexHead":         "a line of a log",
	"producer/importer/openhands.ohArgs":        "a part of a log",
	"producer/importer/openhands.ohEvent":       "an event of a log",
	"producer/importer/sweagent.sweTrial":       "a log",
	"producer.Config":                           "configuration",
	"producer/capture.Config":                   "configuration",
	"producer/importer/model.Piece":             "what becomes an item, as plain data",
	"producer/importer/model.Report":            "a result, as plain data",
	"producer/window.Pass":                      "a result, as plain data",
	"schema.Event":                              "an event",
}

// TestTypesThatChangeHaveFewFields: a type whose methods assign to its fields has at most
// twelve of them.
func TestTypesThatChangeHaveFewFields(t *testing.T) {
	t.Parallel()
	const limit = 12
	fields, changes := make(map[string]int), make(map[string]bool)
	for folder, files := range sourceFiles(t) {
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				switch d := decl.(type) {
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if spec, ok := spec.(*ast.TypeSpec); ok {
							fields[folder+"."+spec.Name.Name] = fieldsOf(spec.Type)
						}
					}
				case *ast.FuncDecl:
					if d.Recv != nil && len(d.Recv.List[0].Names) == 1 && assignsTo(d.Recv.List[0].Names[0].Name, d.Body) {
						changes[folder+"."+receiver(d.Recv.List[0].Type)] = true
					}
				}
			}
		}
	}
	seen := 0
	for name := range changes {
		switch n := fields[name]; {
		case n <= limit:
		case records[name] != "":
			seen++
		default:
			t.Errorf("%s has %d fields; the limit is %d: let a type own one thing", name, n, limit)
		}
	}
	if len(changes) < 50 || seen != len(records) {
		t.Errorf("%d types change, and %d of %d records are large", len(changes), seen, len(records))
	}
}

func fieldsOf(of ast.Expr) (n int) {
	if s, ok := of.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			n += max(len(f.Names), 1)
		}
	}
	return n
}

// assignsTo reports whether a body assigns to a field of the variable called name.
func assignsTo(name string, body *ast.BlockStmt) (found bool) {
	target := func(e ast.Expr) {
		for deep := false; ; deep = true {
			switch x := e.(type) {
			case *ast.SelectorExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.Ident:
				found = found || deep && x.Name == name
				return
			default:
				return
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, to := range n.Lhs {
					target(to)
				}
			}
		case *ast.IncDecStmt:
			target(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				target(n.X)
			}
		}
		return true
	})
	return found
}

// receiver is the name of a method's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

func TestFilesStaySmall(t *testing.T) {
	t.Parallel()
	const limit = 600
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".sql" {
			return nil
		}
		text, err := os.ReadFile(path)
		if lines := strings.Count(string(text), "\n"); lines > limit {
			t.Errorf("%s has %d lines; the limit is %d", path, lines, limit)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
