//go:build !linux

package capture

// lower does nothing: the system has no priority of a single thread.
func lower() {}
