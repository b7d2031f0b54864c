package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// checkFiles compares the files with the manifest and finds the changed ones.
func (v *verifier) checkFiles() error {
	v.changed = make(map[string]bool)
	text, err := v.pack.ReadFile(pack.ManifestFile)
	if err != nil {
		v.changed[pack.ManifestFile] = true
		v.found.settle(Files, NotChecked, "there is no manifest")
		return nil // reported by checkSignature
	}
	listed, err := pack.ManifestFiles(text, v.pack.Limits().Files)
	if err != nil {
		v.found.faultf(Files, pack.ManifestFile, 0, "%v", err)
		return nil
	}
	sums, err := v.digests()
	if err != nil {
		return err
	}
	seen := map[string]bool{pack.ManifestFile: true, pack.AttestationFile: true}
	for i, f := range listed {
		if seen[f.Path] {
			v.manifestFault(i, f.Path, "is listed twice, or may not be in the manifest")
		}
		seen[f.Path] = true
		e, there := sums[f.Path]
		switch {
		case !there:
			v.contradicted(i, f.Path, "is listed but is not in the pack")
		case e.sum == "":
			v.contradicted(i, f.Path, "cannot be read")
		case e.size != f.Size:
			v.contradicted(i, f.Path, fmt.Sprintf("has %d bytes, but the manifest lists %d", e.size, f.Size))
		case pack.HashPrefix+e.sum != f.Hash:
			v.contradicted(i, f.Path, "does not match the listed digest")
		}
	}
	for _, e := range v.pack.Files() {
		if !seen[e.Path] {
			v.contradicted(-1, e.Path, "is in the pack but is not listed")
		}
	}
	v.found.settle(Files, Passed, "all %d files are as listed", len(listed))
	return nil
}

// contradicted reports that a file and entry i of the manifest differ. The fault goes to the
// manifest if the manifest is not the signed one, and to the file otherwise.
func (v *verifier) contradicted(i int, path, reason string) {
	if !v.trusted && v.signers != nil {
		v.manifestFault(i, path, reason)
		return
	}
	v.changed[path] = true
	v.found.faultf(Files, path, 0, "%s", reason)
}

func (v *verifier) manifestFault(i int, path, reason string) {
	pointer := "/files"
	if i >= 0 {
		pointer += fmt.Sprintf("/%d", i)
	}
	v.found.fault(Files, Fault{File: pack.ManifestFile, Pointer: pointer, Reason: path + " " + reason})
}

// fileSum holds the real size and digest of a file.
type fileSum struct {
	size int64
	sum  string // hexadecimal; empty for an unreadable file
}

// digests reads every file once.
func (v *verifier) digests() (map[string]fileSum, error) {
	files := v.pack.Files()
	sums := make([]fileSum, len(files))
	group, ctx := errgroup.WithContext(v.ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range files {
		group.Go(func() error {
			f, err := v.pack.Open(e.Path)
			if err != nil {
				v.unreadable(e.Path, 0, err)
				return nil
			}
			defer f.Close()
			h := sha256.New()
			n, err := io.CopyBuffer(h, untilDone{ctx, f}, make([]byte, 64<<10))
			if err != nil && ctx.Err() == nil {
				v.unreadable(e.Path, 0, err)
				return nil
			}
			sums[i] = fileSum{n, hex.EncodeToString(h.Sum(nil))}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	by := make(map[string]fileSum, len(files))
	for i, e := range files {
		by[e.Path] = sums[i]
	}
	return by, nil
}
