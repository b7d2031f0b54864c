package embeddedtest

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
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

// memoryFolder returns a folder whose files are in memory, or "" if there is none with 4 GiB of
// room from which programs may be run.
func memoryFolder() string {
	const dir, room = "/dev/shm", 4 << 30
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || fs.Flags&unix.ST_NOEXEC != 0 {
		return ""
	}
	if fs.Bavail*uint64(fs.Bsize) < room || unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	return dir
}
