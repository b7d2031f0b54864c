package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// Fetch returns the path of the pinned ClickHouse library in the cache. If the library is
// missing, Fetch downloads, checks and unpacks it first.
//
// The layout is CACHE/engine/PLATFORM-VERSION/libchdb.so. CACHE is CTXLEDGER_CACHE, or ctxledger
// in the user's cache folder. Fetch checks the pinned sha512 of the tarball, syncs the library
// and renames it atomically. The final name therefore never holds a partial file. One process at
// a time fetches; the others wait and use the result. A fetch removes the files of interrupted
// fetches. progress may be nil.
//
// Each error names the next step. Errors: the errors of Unavailable, errChecksum, and the error
// of ctx.
func Fetch(ctx context.Context, progress Progress) (path string, err error) {
	return fetchInto(ctx, "", progress)
}

func fetchInto(ctx context.Context, cacheDir string, progress Progress) (string, error) {
	p, ok := pins[platform()]
	if !ok {
		return "", fail(errNoPin, nil,
			"ctxledger has no checksum of the ClickHouse library for %s and cannot download it: install `clickhouse` (26.6 or newer) on the PATH, or set CTXLEDGER_LIBCHDB to a library", platform())
	}
	if cacheDir == "" {
		var err error
		if cacheDir, err = defaultCacheDir(); err != nil {
			return "", err
		}
	}
	f := fetcher{pin: p, dir: filepath.Join(cacheDir, "engine", platform()+"-"+p.version), free: freeSpace, progress: progress}
	return f.fetch(ctx)
}

func defaultCacheDir() (string, error) {
	if dir := os.Getenv("CTXLEDGER_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fail(ErrConfig, err, "there is no folder for the ClickHouse library (%v): set CTXLEDGER_CACHE to a folder", err)
	}
	return filepath.Join(dir, "ctxledger"), nil
}

// fetcher fills one folder of the cache.
type fetcher struct {
	pin      pin
	dir      string
	free     func(dir string) (uint64, error) // free bytes; tests replace the function to fill the disk
	progress Progress
}

// workPrefix is the prefix of the names of all unfinished files in a cache folder.
const workPrefix = "tmp-"

func (f fetcher) library() string { return filepath.Join(f.dir, filepath.Base(f.pin.member)) }

// cached reports whether the library is in the cache. The size detects a file that was cut later.
func (f fetcher) cached() bool {
	info, err := os.Stat(f.library())
	return err == nil && info.Mode().IsRegular() && info.Size() == f.pin.unpacked
}

func (f fetcher) fetch(ctx context.Context) (string, error) {
	if f.cached() {
		return f.library(), nil
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return "", f.ioError("create the cache folder", err)
	}
	lock := flock.New(filepath.Join(f.dir, "lock"))
	if err := f.lock(ctx, lock); err != nil {
		return "", err
	}
	defer lock.Unlock()
	if f.cached() {
		return f.library(), nil
	}
	if err := f.removeStale(); err != nil {
		return "", f.ioError("clean the cache folder", err)
	}
	if err := f.checkSpace(); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(f.dir, workPrefix)
	if err != nil {
		return "", f.ioError("create a temporary folder", err)
	}
	defer os.RemoveAll(work)

	tarball, err := f.download(ctx, work)
	if err != nil {
		return "", err
	}
	if err := f.verify(ctx, tarball); err != nil {
		return "", err
	}
	unpacked := filepath.Join(work, "library")
	if err := f.unpack(ctx, tarball, unpacked); err != nil {
		return "", err
	}
	if err := os.Rename(unpacked, f.library()); err != nil {
		return "", f.ioError("rename the library", err)
	}
	return f.library(), syncDir(f.dir)
}

func (f fetcher) lock(ctx context.Context, lock *flock.Flock) error {
	got, err := lock.TryLock()
	if err == nil && !got {
		f.progress.report("Waiting for another process to fetch ClickHouse", 0, 0)
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return f.ioError("lock the cache folder", err)
	}
	return nil
}

// removeStale removes the files of interrupted fetches. The caller holds the lock, so no process
// uses these files.
func (f fetcher) removeStale() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), workPrefix) {
			if err := os.RemoveAll(filepath.Join(f.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// spaceMargin is the free space that must remain after the tarball and the library are written.
const spaceMargin = 64 << 20

func (f fetcher) spaceNeeded() int64 { return f.pin.packed + f.pin.unpacked + spaceMargin }

func (f fetcher) checkSpace() error {
	free, err := f.free(f.dir)
	if err != nil {
		return f.ioError("measure the free space of the cache folder", err)
	}
	if need := f.spaceNeeded(); int64(free) < need {
		return f.diskFull(nil)
	}
	return nil
}

func (f fetcher) diskFull(cause error) error {
	return fail(errDiskFull, cause,
		"the ClickHouse library needs %d bytes (%d MB) in %s, but less is free: free some space, or set CTXLEDGER_CACHE to a folder on a larger disk",
		f.spaceNeeded(), f.spaceNeeded()/1e6, f.dir)
}

// ioError adds a description to an error of the file system. A full disk has a separate sentinel.
func (f fetcher) ioError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return f.diskFull(err)
	}
	return fmt.Errorf("fetch ClickHouse: %s: %w", doing, err)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// freeSpace returns the number of bytes that this user can still write below dir.
func freeSpace(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return uint64(fs.Bavail) * uint64(fs.Bsize), nil
}
