//go:build !linux

package embeddedtest

import "testing"

// SmallDisk exists for Linux only, the only tested platform.
func SmallDisk(tb testing.TB, _ int) string {
	tb.Helper()
	tb.Skip("a disk that can be filled can only be mounted on Linux")
	return ""
}
