package embedded

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal for the engine's standard input; see the package comment.
// Neither end becomes a controlling terminal, and both are closed on exec. The descriptors come
// from unix.Open, because os.OpenFile would make them non-blocking, and the engine would inherit
// that.
func openTerminal() (master, slave *os.File, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("unlock a pseudo-terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("find the pseudo-terminal's other end: %w", err)
	}
	name := fmt.Sprintf("/dev/pts/%d", number)
	fd, err = unix.Open(name, flags, 0)
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("open %s: %w", name, err)
	}
	return master, os.NewFile(uintptr(fd), name), nil
}

// endWithParent makes the kernel kill a helper process when the thread that starts it ends. The
// caller keeps its goroutine on that thread meanwhile. endWithParent is for npm, which can be
// killed at any time. endWithParent is not for the engine, which must stop in order through its
// pipe.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
