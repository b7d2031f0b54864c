package realclient

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// cacheDir is the folder of the clients in the user's cache.
func cacheDir() (string, error) {
	if dir := os.Getenv("CTXLEDGER_CACHE"); dir != "" {
		return filepath.Join(dir, "clients"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w: set CTXLEDGER_CACHE to a folder", err)
	}
	return filepath.Join(dir, "ctxledger", "clients"), nil
}

// fetch returns the path of the client's program. If the program is not in the cache, fetch
// downloads, checks and unpacks its package first.
func (p pin) fetch(ctx context.Context, cache string) (program string, err error) {
	folder, err := fetchOnce(ctx, cache, p.name+"-"+p.version, p.program, func(work, into string) error {
		tarball, err := p.download(ctx, work)
		if err != nil {
			return err
		}
		if err := p.verify(tarball); err != nil {
			return err
		}
		return p.unpack(tarball, into)
	})
	return filepath.Join(folder, filepath.FromSlash(p.program)), err
}

// fetchOnce returns a folder of the cache. If the folder lacks the file, get fills a new one
// first: it gets a temporary folder, and the path that it makes.
func fetchOnce(ctx context.Context, cache, name, file string, get func(work, into string) error) (folder string, err error) {
	final := filepath.Join(cache, name+"-"+platform())
	file = filepath.Join(final, filepath.FromSlash(file))
	if isFile(file) {
		return final, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache folder: %w", err)
	}
	lock := flock.New(final + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("lock the cache folder: %w", err)
	}
	defer lock.Unlock()
	if isFile(file) {
		return final, nil
	}
	prefix := filepath.Base(final) + ".tmp-"
	if err := removeStale(cache, prefix); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, prefix)
	if err != nil {
		return "", fmt.Errorf("create a temporary folder: %w", err)
	}
	defer os.RemoveAll(work)
	fetched := filepath.Join(work, "client")
	if err := get(work, fetched); err != nil {
		return "", err
	}
	if err := os.Rename(fetched, final); err != nil {
		return "", fmt.Errorf("rename the folder of the client: %w", err)
	}
	return final, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// removeStale removes the folders of interrupted fetches. The caller holds the lock.
func removeStale(cache, prefix string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return fmt.Errorf("read the cache folder: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
				return fmt.Errorf("remove an interrupted fetch: %w", err)
			}
		}
	}
	return nil
}

// download fetches the tarball with npm and returns its path. Scripts of the package never run.
func (p pin) download(ctx context.Context, work string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w: install Node.js with npm", p.spec, err)
	}
	cmd := exec.CommandContext(ctx, npm, "pack", p.spec, "--pack-destination", work,
		"--cache", filepath.Join(work, "npm"), "--ignore-scripts", "--silent", "--fetch-retries=2")
	cmd.Dir = work // does not read an .npmrc of the current folder
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("fetch %s: %w: run `npm pack %s` to see why", p.spec, err, p.spec)
	}
	tarballs, err := filepath.Glob(filepath.Join(work, "*.tgz"))
	if err != nil || len(tarballs) != 1 {
		return "", fmt.Errorf("fetch %s: npm left %d packages instead of one", p.spec, len(tarballs))
	}
	return tarballs[0], nil
}

// verify compares the tarball with the pinned sha512.
func (p pin) verify(tarball string) error {
	in, err := os.Open(tarball)
	if err != nil {
		return fmt.Errorf("open the package: %w", err)
	}
	defer in.Close()
	hash := sha512.New()
	if _, err := io.Copy(hash, in); err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	if base64.StdEncoding.EncodeToString(hash.Sum(nil)) != p.sha512 {
		return fmt.Errorf("npm's file for %s has another sha512 than the pinned one: check the registry", p.spec)
	}
	return nil
}

// unpack writes the members of the client into the new folder to.
func (p pin) unpack(tarball, to string) error {
	in, err := os.Open(tarball)
	if err != nil {
		return fmt.Errorf("open the package: %w", err)
	}
	defer in.Close()
	zipped, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	missing := slices.Clone(p.members)
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the package: %w", err)
		}
		name := strings.TrimPrefix(header.Name, "package/")
		at := slices.Index(missing, name)
		if at < 0 || header.Typeflag != tar.TypeReg {
			continue
		}
		missing = slices.Delete(missing, at, at+1)
		if err := writeMember(filepath.Join(to, filepath.FromSlash(name)), files); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the package %s does not contain %s", p.spec, strings.Join(missing, ", "))
	}
	return nil
}

func writeMember(path string, from io.Reader) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, from); err != nil {
		return err
	}
	return out.Sync()
}
