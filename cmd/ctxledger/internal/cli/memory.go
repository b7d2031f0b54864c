package cli

import (
	"os"
	"runtime/debug"
)

// littleGarbage is how much garbage, in percent of what is in use, a process lets
// come together that projects, or that verifies a pack. What is in use are mostly the
// rows of two batches, or tables of hashed ids, which hold no pointers for the
// collector to follow, so that it may come more often than by itself: a third less
// memory for a few hundredths of the time. A limit would be as good until the
// identities of a very large ledger alone fill it, and then cost half of the time.
const littleGarbage = 40

// SaveMemory is for a process that does one of these and nothing else. A GOGC or GOMEMLIMIT
// of whoever runs it counts instead.
func SaveMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(littleGarbage)
	}
}
