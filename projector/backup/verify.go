package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A Progress receives the finished bytes of a step, and the sum of all bytes. The sum is 0 while
// it is unknown.
type Progress func(step string, done, total int64)

func (p Progress) tell(step string, done, total int64) {
	if p != nil {
		p(step, done, total)
	}
}

// until returns a Progress for several goroutines that tells p nothing after stop.
func (p Progress) until() (told Progress, stop func()) {
	var mu sync.Mutex
	over := false
	told = func(step string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			p.tell(step, done, total)
		}
	}
	return told, func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

// hashing is the name of the step that reads all files.
const hashing = "reading the files"

// verifyFiles compares the files of one backup with its manifest. Errors: [ErrChanged].
func verifyFiles(ctx context.Context, l Link, told Progress) error {
	found, err := hashFiles(ctx, l.Dir, l.Manifest.Bytes(), told)
	if err != nil {
		return err
	}
	faults := differences(l.Files, found)
	if len(faults) == 0 {
		return nil
	}
	const shown = 5
	more := ""
	if len(faults) > shown {
		more = fmt.Sprintf(", and %d more", len(faults)-shown)
		faults = faults[:shown]
	}
	return fmt.Errorf("%w: %s%s", ErrChanged, strings.Join(faults, ", "), more)
}

// differences names the files that are missing, changed or unexpected. Both lists are sorted.
func differences(want, found []File) (faults []string) {
	for len(want)+len(found) > 0 {
		switch {
		case len(found) == 0 || len(want) > 0 && want[0].Path < found[0].Path:
			faults, want = append(faults, want[0].Path+" is missing"), want[1:]
		case len(want) == 0 || found[0].Path < want[0].Path:
			faults, found = append(faults, fmt.Sprintf("%q is not in the manifest", found[0].Path)), found[1:]
		default:
			if want[0] != found[0] {
				faults = append(faults, want[0].Path+" is changed")
			}
			want, found = want[1:], found[1:]
		}
	}
	return faults
}

// hashFiles returns the files of a backup without its manifest, in the order of their paths.
func hashFiles(ctx context.Context, dir string, total int64, told Progress) ([]File, error) {
	var list []File
	var done int64
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == manifestFile || name == sumFile {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%w: %q is no file", ErrChanged, name)
		}
		f, err := hashFile(path, filepath.ToSlash(name))
		list, done = append(list, f), done+f.Bytes
		told.tell(hashing, done, total)
		return err
	})
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list, err
}

func hashFile(path, name string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return File{name, n, hex.EncodeToString(h.Sum(nil))}, err
}

// Listed is a folder of the target that has the name of a backup.
type Listed struct {
	Manifest
	Dir string
	Err error // not nil if its manifest or one of its bases' cannot be used
}

// List returns the backups below a target, the oldest first. List reads only their manifests. A
// backup that is being made, or that was killed, is not listed.
func List(target string) (list []Listed, err error) {
	entries, err := os.ReadDir(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist: name the folder that `ctxledger backup create` wrote to", target)
	}
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), NamePrefix) {
			continue
		}
		l := Listed{Dir: filepath.Join(target, entry.Name())}
		chain, err := ReadChain(l.Dir)
		if l.Err = err; err == nil {
			l.Manifest = chain.last().Manifest
		}
		list = append(list, l)
	}
	return list, nil
}
