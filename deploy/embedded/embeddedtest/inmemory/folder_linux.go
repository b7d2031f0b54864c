package inmemory

import "golang.org/x/sys/unix"

// folder returns a folder whose files are in memory, or "" if there is none with 4 GiB of
// room from which programs may be run.
func folder() string {
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
