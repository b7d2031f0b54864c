// Package inmemory makes tests cheaper: their temporary files are in memory, and the garbage collector
// runs less often.
package inmemory

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// Tests must be called by TestMain before it runs the tests. It does nothing for benchmarks, and in
// processes that the tests start: both run as they do for users.
//
//   - Temporary folders are in memory if the system has a folder for it with enough room, and TMPDIR
//     names no other. The tests create and delete so many small files that a tenth of their time on
//     ext4 went to the search for free inodes. A test process that is killed leaves its folders there.
//   - The garbage collector runs less often unless GOGC is set. With four times the garbage, the
//     simulation of the projector takes a third less time of the processors.
func Tests() {
	if !runsTests(os.Args[1:]) {
		return
	}
	if dir := folder(); dir != "" && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", dir)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// runsTests reports whether arguments are the flags of a run of tests without benchmarks.
func runsTests(arguments []string) bool {
	has := func(flag string) bool {
		return slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, flag) })
	}
	return has("-test.") && !has("-test.bench")
}
