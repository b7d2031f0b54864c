package embeddedtest

import (
	"os"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Main must be the first statement of TestMain in a package whose tests start servers. A process
// that the tests started as a server runs it and never returns. In any other process Main returns
// at once.
//
// The tests then keep their temporary folders in memory if the system has one for it with enough
// room, and TMPDIR names no other. They create and delete so many small files that a tenth of
// their time on ext4 went to the search for free inodes. Benchmarks stay on the disk.
func Main() {
	embedded.Main()
	serveNode()
	bench := slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.bench=") })
	if dir := memoryFolder(); dir != "" && !bench && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", dir)
	}
}
