package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestFindProgram(t *testing.T) {
	bin := t.TempDir()
	write := func(name, script string) string {
		path := filepath.Join(bin, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	recent := write("clickhouse", "echo 'ClickHouse local version 26.7.1.5 (official build).'")
	old := write("clickhouse-old", "echo 'ClickHouse local version 25.12.1.5 (official build).'")
	t.Setenv("PATH", bin)
	for name, c := range map[string]struct {
		library, program string
		path             string
		err              error
	}{
		"on the PATH":       {path: recent},
		"named":             {program: recent, path: recent},
		"named and too old": {program: old, err: errNoEngine},
		"named and missing": {program: "nowhere", err: errNoEngine},
		"off, and no npm":   {program: "off", err: errNoNPM},
		"library first":     {library: recent, program: recent, path: "/proc/self/exe"},
		"library missing":   {library: filepath.Join(bin, "nothing"), err: errNoEngine},
		"library a folder":  {library: bin, err: errNoEngine},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CTXLEDGER_LIBCHDB", c.library)
			t.Setenv("CTXLEDGER_CLICKHOUSE", c.program)
			config := DefaultConfig(t.TempDir())
			config.CacheDir = t.TempDir()
			p, err := findProgram(t.Context(), config)
			if !errors.Is(err, c.err) || err == nil && p.path != c.path {
				t.Errorf("got %q and %v, not %q and %v", p.path, err, c.path, c.err)
			}
			if (p.library != "") != (c.library != "" && c.err == nil) {
				t.Errorf("the library is %q", p.library)
			}
		})
	}
}

func TestStartWithoutMain(t *testing.T) {
	mainCalled.Store(false)
	defer mainCalled.Store(true)
	if _, err := reexecuted("library"); !errors.Is(err, errNoMain) {
		t.Errorf("got %v", err)
	}
}
