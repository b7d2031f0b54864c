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
)

// Fetch returns the path of the pinned ClickHouse library in the cache, after
// downloading, checking and unpacking it where it is not there yet.
//
// The layout is CACHE/engine/PLATFORM-VERSION/libchdb.so, CACHE being
// CTXLEDGER_CACHE or ctxledger in the user's cache folder. The final name
// appears by an atomic rename of a file whose tarball had the pinned sha512 and
// which was synced: it is there whole or not at all. One process at a time
// fetches; others wait and use what it got. What an interrupted fetch left is
// removed by the next. Progress may be nil.
//
// An error says what to do. Errors: those that Unavailable reports, that of a library
// with another checksum, and the context's.
func Fetch(ctx context.Context, progress Progress) (path string, err error) {
	return fetchInto(ctx, "", progress)
}

func fetchInto(ctx context.Context, cacheDir string, progress Progress) (string, error) {
	p, ok := pins[platform()]
	if !ok {
		return "", fail(errNoPin, nil,
			"no checksum of the ClickHouse library for %s is known to ctxledger, so it downloads none: install a `clickhouse` program (26.6 or newer) on the PATH, or name a library by CTXLEDGER_LIBCHDB", platform())
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
		return "", fail(ErrConfig, err, "there is no folder to keep the ClickHouse library in (%v): set CTXLEDGER_CACHE to one", err)
	}
	return filepath.Join(dir, "ctxledger"), nil
}

// fetcher fills one folder of the cache.
type fetcher struct {
	pin      pin
	dir      string
	free     func(dir string) (uint64, error) // free bytes; a function so that tests can fill the disk
	progress Progress
}

// workPrefix begins the names of everything unfinished in a cache folder.
const workPrefix = "tmp-"

func (f fetcher) library() string { return filepath.Join(f.dir, filepath.Base(f.pin.member)) }

// cached tells whether the library is there. The size guards against a file
// that something else cut short.
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
		return "", f.ioError("put the library in its place", err)
	}
	return f.library(), syncDir(f.dir)
}

func (f fetcher) lock(ctx context.Context, lock *flock.Flock) error {
	got, err := lock.TryLock()
	if err == nil && !got {
		f.progress.report("Waiting for another process that fetches ClickHouse", 0, 0)
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return f.ioError("lock the cache folder", err)
	}
	return nil
}

// removeStale removes what interrupted fetches left. The caller holds the lock,
// so nothing of it is in use.
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

// spaceMargin is what must stay free beside the tarball and the library.
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
		"the ClickHouse library needs %d bytes (%d MB) free in %s, and there is less: free some space, or set CTXLEDGER_CACHE to a folder on a larger disk",
		f.spaceNeeded(), f.spaceNeeded()/1e6, f.dir)
}

// ioError words an error of the file system, a full disk by its own sentinel.
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
