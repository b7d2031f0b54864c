package embeddedtest

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// SmallDisk mounts a disk of some kibibytes that a test can fill, and returns its folder. If
// mounting is not allowed, SmallDisk skips the test, or fails it in CI.
func SmallDisk(tb testing.TB, kibibytes int) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kibibytes)); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("mount a disk that can be filled: %v", err)
		}
		tb.Skipf("a disk that can be filled cannot be mounted here: %v", err)
	}
	tb.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}
