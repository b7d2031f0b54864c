package embedded

import "golang.org/x/sys/unix"

// freeSpace returns the number of bytes that this user can still write below dir.
func freeSpace(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return uint64(fs.Bavail) * uint64(fs.Bsize), nil
}
