package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	read   = landlock.AccessFSReadFile | landlock.AccessFSReadDir | landlock.AccessFSExecute
	device = read | landlock.AccessFSWriteFile | landlock.AccessFSIoctlDev | landlock.AccessFSTruncate
	remove = landlock.AccessFSReadDir | landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile
	creat  = landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeSym | landlock.AccessFSMakeFifo | landlock.AccessFSMakeSock
	write  = device | remove | creat | landlock.AccessFSRefer
	// all are the rights that a confined program has only by a rule.
	all = write | landlock.AccessFSMakeChar | landlock.AccessFSMakeBlock
	// ofFiles are the rights that a rule for a file, and not for a folder, may give.
	ofFiles = landlock.AccessFSReadFile | landlock.AccessFSExecute | landlock.AccessFSWriteFile | landlock.AccessFSIoctlDev | landlock.AccessFSTruncate
)

// lookingOutside are the capabilities of root that let a process read the environment of a
// process outside. A program of another user has none of them, and may not drop them.
var lookingOutside = []uintptr{unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_PERFMON}

// Available returns nil, or an error that wraps [ErrUnavailable].
func Available() error {
	version, err := landlock.LandlockGetABIVersion()
	switch {
	case err != nil:
		return fmt.Errorf("Landlock is %w: %w", ErrUnavailable, err)
	case version < 2:
		return fmt.Errorf("Landlock is %w: the kernel has version %d of it, and version 2 is needed", ErrUnavailable, version)
	}
	return nil
}

// known are the rights that a version of Landlock knows; the kernel refuses others.
func known(version int) uint64 {
	rights := uint64(all)
	if version < 3 {
		rights &^= landlock.AccessFSTruncate
	}
	if version < 5 {
		rights &^= landlock.AccessFSIoctlDev
	}
	return rights
}

// Start starts cmd with these rules. Nothing is started when it returns an error.
func Start(cmd *exec.Cmd, rules Rules) error {
	if err := Available(); err != nil {
		return err
	}
	done := make(chan error)
	onThreadOfItsOwn(func() {
		err := restrictThread(rules)
		if err == nil {
			err = cmd.Start()
		} else {
			err = fmt.Errorf("confine %s: %w", cmd.Path, err)
		}
		done <- err
	})
	return <-done
}

// onThreadOfItsOwn runs f on a thread that ends with f. It is never the main thread, whose
// rules count as those of the process: a confined program could look into that one.
func onThreadOfItsOwn(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // locked: the thread ends
		}
		started := make(chan struct{})
		onThreadOfItsOwn(func() { close(started); f() })
		<-started // this goroutine has held the main thread until then
		runtime.UnlockOSThread()
	}()
}

func restrictThread(rules Rules) error {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return err
	}
	handled := known(version)
	ruleset, err := landlock.LandlockCreateRuleset(&landlock.RulesetAttr{HandledAccessFS: handled}, 0)
	if err != nil {
		return fmt.Errorf("create the ruleset: %w", err)
	}
	defer unix.Close(ruleset)
	for _, r := range []struct {
		paths  []string
		rights uint64
	}{{rules.Read, read}, {rules.Device, device}, {rules.Write, write}, {rules.Remove, remove}} {
		for _, path := range r.paths {
			if err := allow(ruleset, path, r.rights&handled); err != nil {
				return fmt.Errorf("allow %s: %w", path, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	for _, capability := range lookingOutside {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("give up a capability: %w", err)
		}
	}
	if err := landlock.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("restrict the thread: %w", err)
	}
	return nil
}

// allow gives rights on what path is, or on all below it if it is a folder.
func allow(ruleset int, path string, rights uint64) error {
	file, err := os.OpenFile(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		rights &= ofFiles
	}
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{ParentFd: int(file.Fd()), AllowedAccess: rights}, 0)
}
