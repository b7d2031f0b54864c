package embedded

import (
	"os"
	"path/filepath"

	"github.com/ctxledger/ctxledger/deploy/embedded/internal/confine"
)

// devices are what the engine opens in /dev. Other files there, such as those of /dev/shm, belong
// to other programs.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// mayOpen returns the files that the engine may open: its folder, itself, and the parts of
// the system that it needs. The passwords and keys of the data folder are not among them.
func (e *engine) mayOpen() confine.Rules {
	r := confine.Rules{
		Read:   []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/sys", e.program.path, e.program.library},
		Device: devices,
		Write:  []string{e.dir},
	}
	r.Read = append(r.Read, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
	if e.config.RemoveDir {
		r.Remove = []string{e.config.Dir, filepath.Dir(e.config.Dir)}
	}
	return r
}
