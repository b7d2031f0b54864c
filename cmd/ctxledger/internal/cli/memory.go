package cli

import (
	"os"
	"runtime/debug"
)

// littleGarbage is the garbage, in percent of the memory in use, at which a process that
// projects or verifies a pack collects it. The memory in use holds few pointers: rows of two
// batches, or tables of hashed ids. Frequent collections are therefore cheap. A memory limit
// would slow a very large ledger, whose identities can fill it.
const littleGarbage = 40

// SaveMemory is for a process that does one of these and nothing else. The variables GOGC and
// GOMEMLIMIT take precedence.
func SaveMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(littleGarbage)
	}
}
