package keyfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate refuses a key file that other users can read. The group may read a file of root's:
// this is how a process without root's rights reads a mounted secret.
func checkPrivate(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	if private(info.Mode(), ownerOf(info), os.Getuid()) {
		return nil
	}
	return fmt.Errorf("key file %s can be read by other users: run chmod 600 on it", file)
}

func private(mode fs.FileMode, owner, self int) bool {
	if owner == 0 && self != 0 {
		return mode.Perm()&0o037 == 0
	}
	return mode.Perm()&0o077 == 0
}

// ownerOf is -1 where the system does not tell.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
