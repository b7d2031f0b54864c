package embeddedtest

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Main must be the first statement of TestMain in a package whose tests start servers. A process
// that the tests started as a server runs it and never returns. In any other process Main returns
// at once.
//
// Main makes the tests of the process cheaper, except benchmarks and except a program under test,
// which has another name:
//
//   - Temporary folders are in memory if the system has a folder for it with enough room, and TMPDIR
//     names no other. The tests create and delete so many small files that a tenth of their time on
//     ext4 went to the search for free inodes. A test process that is killed leaves its folders there.
//   - The garbage collector runs less often unless GOGC is set: with four times the garbage, the
//     simulation of the projector takes a third less time of the processors.
func Main() {
	embedded.Main()
	serveNode()
	bench := slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.bench=") })
	if bench || filepath.Ext(os.Args[0]) != ".test" {
		return
	}
	if dir := memoryFolder(); dir != "" && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", dir)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
