package embedded

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"time"
)

// program is the command that starts the engine: this binary with a library, or a `clickhouse`
// program.
type program struct {
	path    string   // path of the executable
	name    string   // argv[0]
	prefix  []string // arguments before the arguments of clickhouse local
	library string   // empty for a `clickhouse` program
}

// findProgram returns the first available engine, in the order of the package comment.
func findProgram(ctx context.Context, c Config) (program, error) {
	if library := os.Getenv("CTXLEDGER_LIBCHDB"); library != "" {
		if info, err := os.Stat(library); err != nil || !info.Mode().IsRegular() {
			return program{}, fail(errNoEngine, err, "CTXLEDGER_LIBCHDB names %s, which is not a readable file: set it to a libchdb library of version 26.6 or newer, or unset it", library)
		}
		return reexecuted(library)
	}
	if p, found, err := findClickHouse(ctx); found || err != nil {
		return p, err
	}
	library, err := fetchInto(ctx, c.CacheDir, c.Progress)
	if err != nil {
		return program{}, err
	}
	return reexecuted(library)
}

func reexecuted(library string) (program, error) {
	if !mainCalled.Load() {
		return program{}, fail(errNoMain, nil, "the ClickHouse engine runs in a second process of this binary: call embedded.Main() as the first statement of main and of TestMain")
	}
	self := "/proc/self/exe" // stays valid if the binary is replaced or removed
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return program{}, fail(errEngineStart, err, "the path of this program is unknown (%v): put a `clickhouse` program on the PATH", err)
		}
	}
	return program{path: self, name: childName, library: library}, nil
}

// findClickHouse searches for a program that supports SYSTEM START LISTEN, which clickhouse local
// has since version 26.6.
func findClickHouse(ctx context.Context) (p program, found bool, err error) {
	named := os.Getenv("CTXLEDGER_CLICKHOUSE")
	if named == "off" {
		return program{}, false, nil
	}
	name := named
	if name == "" {
		name = "clickhouse"
	}
	path, err := exec.LookPath(name)
	if err == nil && canListen(ctx, path) {
		return program{path: path, name: path, prefix: []string{"local"}}, true, nil
	}
	if named != "" {
		return program{}, false, fail(errNoEngine, err, "CTXLEDGER_CLICKHOUSE names %s, which is not a `clickhouse` program of version 26.6 or newer: name another program, unset the variable, or set it to off", named)
	}
	return program{}, false, nil
}

var versionPattern = regexp.MustCompile(`version (\d+)\.(\d+)\.`)

func canListen(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "local", "--version").Output()
	if err != nil {
		return false
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return false
	}
	year, _ := strconv.Atoi(string(m[1]))
	month, _ := strconv.Atoi(string(m[2]))
	return year > 26 || year == 26 && month >= 6
}
