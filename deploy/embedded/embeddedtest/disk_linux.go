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
	return mount(tb, fmt.Sprintf("size=%dk", kibibytes))
}

// DiskOfFewFiles mounts a disk like SmallDisk that also takes only a number of files.
func DiskOfFewFiles(tb testing.TB, kibibytes, files int) string {
	tb.Helper()
	return mount(tb, fmt.Sprintf("size=%dk,nr_inodes=%d", kibibytes, files))
}

func mount(tb testing.TB, options string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("mount a disk that can be filled: %v", err)
		}
		tb.Skipf("a disk that can be filled cannot be mounted here: %v", err)
	}
	tb.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}
