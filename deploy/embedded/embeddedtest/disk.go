package embeddedtest

import (
	"os"
	"path/filepath"
	"testing"
)

// FillDisk fills the disk of a folder to its last byte. The returned function frees the room. Use it on
// a disk of SmallDisk only.
func FillDisk(tb testing.TB, dir string) (free func()) {
	tb.Helper()
	path := filepath.Join(dir, "ballast")
	file, err := os.Create(path)
	must(tb, err)
	defer file.Close()
	for block := make([]byte, 64<<10); ; {
		n, err := file.Write(block)
		if err == nil {
			continue
		}
		if n == 0 && len(block) == 1 {
			break
		}
		block = block[:max(1, len(block)/2)]
	}
	return func() { must(tb, os.Remove(path)) }
}
