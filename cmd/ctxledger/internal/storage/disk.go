package storage

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DiskOf returns the disk that has a folder of this machine.
func DiskOf(dir string) (Disk, error) {
	var room unix.Statfs_t
	if err := unix.Statfs(dir, &room); err != nil {
		return Disk{}, fmt.Errorf("ask for the room of %s: %w", dir, err)
	}
	block := uint64(room.Bsize)
	return Disk{Name: dir, Free: bytesOf(uint64(room.Bavail) * block), Total: bytesOf(uint64(room.Blocks) * block)}, nil
}

// SizeOf returns the bytes of all files below a folder. A folder that does not exist has none.
// Files that are removed meanwhile do not count.
func SizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
