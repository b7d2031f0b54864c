package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// npmTail is the number of bytes that are kept from npm's standard error.
const npmTail = 64 << 10

// download runs npm pack in the folder work and returns the tarball's path. npm gets a separate
// cache in work. The progress is measured there, and the cache is removed with the folder.
func (f fetcher) download(ctx context.Context, work string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fail(errNoNPM, err,
			"ClickHouse must be fetched through npm, but npm is not installed: install Node.js with npm, or a `clickhouse` program (26.6 or newer) on the PATH, or set CTXLEDGER_LIBCHDB to a library")
	}
	cache, out := filepath.Join(work, "npm"), filepath.Join(work, "pack")
	for _, dir := range []string{cache, out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", f.ioError("create a temporary folder", err)
		}
	}
	cmd := exec.CommandContext(ctx, npm, "pack", f.pin.name+"@"+f.pin.version,
		"--json", "--pack-destination", out, "--cache", cache, "--ignore-scripts", "--loglevel=error",
		"--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000")
	cmd.Dir = work // does not read an .npmrc of the current folder
	var stdout bytes.Buffer
	stderr := tail{max: npmTail}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	runtime.LockOSThread() // required by endWithParent
	defer runtime.UnlockOSThread()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second

	watched, stopWatch := context.WithCancel(ctx)
	watching := make(chan struct{})
	go func() { defer close(watching); f.watch(watched, work) }()
	err = cmd.Run()
	stopWatch()
	<-watching
	if ctx.Err() != nil {
		return "", f.ioError("download", context.Cause(ctx))
	}
	if err != nil {
		return "", f.npmError(err, stdout.Bytes(), stderr.kept)
	}
	tarballs, err := filepath.Glob(filepath.Join(out, "*.tgz"))
	if err != nil || len(tarballs) != 1 {
		return "", fail(errNPM, err, "`npm pack` succeeded but left %d packages instead of one: update npm and try again, or set CTXLEDGER_LIBCHDB to a library", len(tarballs))
	}
	os.RemoveAll(cache) // npm's cache holds a second copy of the tarball
	return tarballs[0], nil
}

// watch reports the number of received bytes until ctx ends.
func (f fetcher) watch(ctx context.Context, work string) {
	const step = "Downloading ClickHouse"
	f.progress.report(step, 0, f.pin.packed)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.progress.report(step, min(treeSize(filepath.Join(work, "npm")), f.pin.packed), f.pin.packed)
		}
	}
}

func treeSize(dir string) (total int64) {
	// npm creates and removes files meanwhile. A file that cannot be read counts as empty.
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// npmError explains a failure of npm. npmError passes on only npm's error code, because npm's
// messages name hosts and folders.
func (f fetcher) npmError(err error, stdout, stderr []byte) error {
	var report struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal(stdout, &report) // an npm that was killed has no report
	code := report.Error.Code
	network := []string{"ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "EHOSTUNREACH",
		"ENETUNREACH", "ENETDOWN", "ENETWORK", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR", "EIDLETIMEOUT", "ERESPONSETIMEOUT", "E502", "E503", "E504"}
	switch {
	case code == "ENOSPC" || bytes.Contains(stderr, []byte("ENOSPC")):
		return f.diskFull(err)
	case slices.Contains(network, code):
		return fail(errNoNetwork, err,
			"npm could not reach its registry (%s): check the network and npm's proxy settings and try again, or set CTXLEDGER_LIBCHDB to a local library", code)
	case code == "E404" || code == "ETARGET":
		return fail(errNPM, err,
			"npm's registry does not have %s@%s (%s): configure a registry that has it, or set CTXLEDGER_LIBCHDB to a library", f.pin.name, f.pin.version, code)
	case code == "EINTEGRITY":
		return f.wrongChecksum(err)
	case code == "":
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.String()
		} else {
			code = err.Error()
		}
	}
	return fail(errNPM, err,
		"npm could not fetch %s@%s (%s): run `npm pack %[1]s@%[2]s` to see why, or set CTXLEDGER_LIBCHDB to a library", f.pin.name, f.pin.version, code)
}

// tail is a writer that keeps the last max bytes.
type tail struct {
	max  int
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.max; over > 0 {
		t.kept = t.kept[over:]
	}
	return len(p), nil
}
