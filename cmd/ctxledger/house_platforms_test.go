package main

import (
	"os"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

// TestOtherPlatformsCompile checks the types of every package and test for a Mac, and vets them. The command go vet
// would compile all dependencies for that platform, which takes three minutes. Here their source is enough.
func TestOtherPlatformsCompile(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("reads the source of every dependency, so it runs with CI=true only")
	}
	t.Parallel()
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedModule,
		Env:   append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"),
		Dir:   "../..",
		Tests: true,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Errorf("loaded %d packages, want at least 100", len(all))
	}
	packages.Visit(all, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			t.Error(e)
		}
	})
	if t.Failed() {
		return
	}
	graph, err := checker.Analyze(vet.Suite, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range graph.Roots {
		if a.Err != nil {
			t.Errorf("%s of %s: %v", a.Analyzer.Name, a.Package, a.Err)
		}
		for _, d := range a.Diagnostics {
			t.Errorf("%s: %s", a.Package.Fset.Position(d.Pos), d.Message)
		}
	}
}
