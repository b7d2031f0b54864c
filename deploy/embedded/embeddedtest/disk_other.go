//go:build !linux

package embeddedtest

import "testing"

// SmallDisk and DiskOfFewFiles exist for Linux only, the only tested platform.
func SmallDisk(tb testing.TB, _ int) string {
	tb.Helper()
	tb.Skip("a disk that can be filled can only be mounted on Linux")
	return ""
}

func DiskOfFewFiles(tb testing.TB, _, _ int) string {
	tb.Helper()
	return SmallDisk(tb, 0)
}
