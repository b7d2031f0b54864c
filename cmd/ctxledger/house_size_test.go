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
