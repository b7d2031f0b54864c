package backup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Link is one backup of a [Chain].
type Link struct {
	Manifest
	Dir    string
	digest string // of the manifest, in hex
}

// A Chain is a backup with all backups that its restore needs: the full one first, itself last.
type Chain []Link

// ErrChain means that a backup lacks its base, or that the base is not the one that it continues.
var ErrChain = errors.New("this incremental backup needs its base unchanged in the same target: copy the base there again, or use another backup")

// ReadChain reads the manifests of the backup in a folder and of all its bases, which are in folders next
// to it. Errors: [ErrNoBackup], [ErrLater], [ErrChanged], [ErrChain].
func ReadChain(dir string) (chain Chain, err error) {
	l := Link{Dir: dir}
	if l.Manifest, l.digest, err = readManifest(dir); err != nil {
		return nil, err
	}
	for chain = (Chain{l}); l.Incremental(); chain = append(chain, l) {
		of, base := l.Name, l.Base
		if base.Name != filepath.Base(base.Name) || !strings.HasPrefix(base.Name, NamePrefix) {
			return nil, fmt.Errorf("%w: the base of %s has the name %q", ErrChanged, of, base.Name)
		}
		l = Link{Dir: filepath.Join(filepath.Dir(dir), base.Name)}
		switch l.Manifest, l.digest, err = readManifest(l.Dir); {
		case errors.Is(err, ErrNoBackup):
			return nil, fmt.Errorf("%w: %s is missing, the base of %s", ErrChain, base.Name, of)
		case err != nil:
			return nil, fmt.Errorf("%s, the base of %s: %w", base.Name, of, err)
		case l.digest != base.SHA256:
			return nil, fmt.Errorf("%w: %s is another backup than the base of %s", ErrChain, base.Name, of)
		}
	}
	slices.Reverse(chain)
	return chain, nil
}

// full is the full backup, whose tables a restore begins with.
func (c Chain) full() Link { return c[0] }

// last is the backup that is restored.
func (c Chain) last() Link { return c[len(c)-1] }

// Bytes returns the size of all files.
func (c Chain) Bytes() (n int64) {
	for _, l := range c {
		n += l.Manifest.Bytes()
	}
	return n
}

// copies returns the backups that together hold the messages of a stream: the first one holds a whole copy,
// the others the later messages.
func (c Chain) copies(stream string) Chain {
	for i, l := range slices.Backward(c) {
		if l.stream(stream).After == 0 {
			return c[i:]
		}
	}
	return c
}

// Verify reads every file of a backup and of its bases, and compares them with the manifests. Verify
// needs no server. Errors: those of [ReadChain]. [ErrChanged] names the first files that differ.
func Verify(ctx context.Context, dir string, told Progress) (Manifest, error) {
	chain, err := ReadChain(dir)
	if err != nil {
		return Manifest{}, err
	}
	total, before := chain.Bytes(), int64(0)
	for _, l := range chain {
		err := verifyFiles(ctx, l, func(step string, done, _ int64) { told.tell(step, before+done, total) })
		if err != nil && l.Dir != dir {
			err = fmt.Errorf("%s, which %s needs: %w", l.Name, chain.last().Name, err)
		}
		if err != nil {
			return chain.last().Manifest, err
		}
		before += l.Manifest.Bytes()
	}
	return chain.last().Manifest, nil
}
