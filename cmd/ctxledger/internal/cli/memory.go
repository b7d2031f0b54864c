package cli

import (
	"os"
	"runtime/debug"
)

// Garbage is how much garbage a process that does one thing only keeps before it collects it, in
// percent of the memory in use. The memory in use holds few pointers, so that collections are cheap. A
// memory limit would slow a very large ledger, whose identities can fill it.
type Garbage int

// What a process keeps.
const (
	ProjectorGarbage Garbage = 60 // rows of two batches; at 40 percent a tenth less memory, and 3 percent more CPU time
	PackGarbage      Garbage = 40 // tables of hashed ids
)

// SaveMemory sets the collector of a process. The variables GOGC and GOMEMLIMIT take precedence.
func SaveMemory(g Garbage) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(int(g))
	}
}
