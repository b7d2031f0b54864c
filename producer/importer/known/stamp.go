package known

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Stamp tells whether a log is as it was: a digest over device, inode, size and times of its file,
// or of all files of its folder. The zero Stamp is unsure.
type Stamp struct {
	Digest  [sha256.Size]byte
	Changed time.Time // the newest change of a file
	Taken   time.Time
}

// settled is the time after which a change of a file has another time than the change before, also
// on a file system with coarse times.
const settled = 2 * time.Second

// StampOf returns the stamp of a log, which is a file or a folder. Take it before the log is read. If
// the log cannot be looked at, the stamp is zero. The stamp of a folder covers its files and the files
// of its parent folder, but no folders within.
func StampOf(log string) (s Stamp) {
	h := sha256.New()
	s.Taken = time.Now()
	add := func(path string) bool {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			return false
		}
		fmt.Fprintf(h, "%q %d %d %d %d %d\n", filepath.Base(path), st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
		if at := time.Unix(0, max(st.Mtim.Nano(), st.Ctim.Nano())); at.After(s.Changed) {
			s.Changed = at
		}
		return true
	}
	info, err := os.Stat(log)
	if err != nil || !add(log) {
		return Stamp{}
	}
	var folders []string
	if info.IsDir() {
		folders = []string{log, filepath.Dir(log)}
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return Stamp{}
		}
		for _, entry := range entries {
			if !entry.IsDir() && !add(filepath.Join(folder, entry.Name())) {
				return Stamp{}
			}
		}
	}
	h.Sum(s.Digest[:0])
	return s
}

// sure reports whether the stamp is of a log that was not being written when the stamp was taken.
func (s Stamp) sure() bool { return !s.Taken.IsZero() && s.Taken.Sub(s.Changed) > settled }

func (s Stamp) same(now Stamp) bool { return s.Digest == now.Digest }
