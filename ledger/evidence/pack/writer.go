package pack

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Writer makes a pack in a temporary folder next to the target. [Writer.Finish] renames the
// finished folder or zip to the target. Until then the target does not exist. Only one goroutine at
// a time may use a Writer and the files that it creates.
type Writer struct {
	header Header
	target string
	zip    bool
	folder string // the temporary folder
	files  []File
	open   map[string]bool
}

// NewWriter starts a pack at target. The path must not exist, its parent must. The header is the
// first file.
func NewWriter(target string, asZip bool, h Header) (*Writer, error) {
	if _, err := os.Lstat(target); err == nil {
		return nil, fmt.Errorf("make a pack at %s: the path exists; choose another one", target)
	}
	folder, err := os.MkdirTemp(filepath.Dir(target), "."+filepath.Base(target)+".partial-")
	if err != nil {
		return nil, fmt.Errorf("make a pack: %w", err)
	}
	w := &Writer{header: h, target: target, zip: asZip, folder: folder, open: make(map[string]bool)}
	text, err := EncodeHeader(h)
	if err == nil {
		err = w.Put(HeaderFile, text)
	}
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

// Create starts a file of the pack. Several files can be open at a time. Each must be closed before
// [Writer.Finish]. The path comes from a constant or a function of this package.
func (w *Writer) Create(path string) (io.WriteCloser, error) {
	if w.open[path] || slices.ContainsFunc(w.files, func(f File) bool { return f.Path == path }) {
		return nil, fmt.Errorf("create %s: the pack already has this file", path)
	}
	full := filepath.Join(w.folder, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	f, err := os.OpenFile(full, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	w.open[path] = true
	return &fileWriter{pack: w, path: path, file: f, buffer: bufio.NewWriterSize(f, 64<<10), sum: sha256.New()}, nil
}

// Put writes a complete file.
func (w *Writer) Put(path string, text []byte) error {
	f, err := w.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Finish adds the manifest and the attestation, and renames the pack to its target. The function
// manifest receives the files sorted by path. After an error the pack is removed, as after
// [Writer.Abort].
func (w *Writer) Finish(manifest func([]File) ([]byte, error), signer note.Signer) error {
	err := w.finish(manifest, signer)
	if err != nil {
		return errors.Join(fmt.Errorf("finish the pack: %w", err), w.Abort())
	}
	return nil
}

func (w *Writer) finish(manifest func([]File) ([]byte, error), signer note.Signer) error {
	if len(w.open) > 0 {
		return fmt.Errorf("%d files are still open", len(w.open))
	}
	slices.SortFunc(w.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	text, err := manifest(slices.Clone(w.files))
	if err != nil {
		return err
	}
	attestation, err := Attest(w.header, text, signer)
	if err != nil {
		return err
	}
	if err := errors.Join(w.Put(ManifestFile, text), w.Put(AttestationFile, attestation)); err != nil {
		return err
	}
	if !w.zip {
		return os.Rename(w.folder, w.target)
	}
	partial := w.folder + ".zip"
	if err := zipFolder(partial, w.folder, w.files); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return errors.Join(os.Rename(partial, w.target), os.RemoveAll(w.folder))
}

// Abort removes the unfinished pack.
func (w *Writer) Abort() error { return os.RemoveAll(w.folder) }

// zipFolder writes the files in their order and without times. The same pack always gives the same
// zip.
func zipFolder(target, folder string, files []File) error {
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	z := zip.NewWriter(out)
	for _, f := range files {
		if err = zipFile(z, folder, f.Path); err != nil {
			break
		}
	}
	return errors.Join(err, z.Close(), out.Sync(), out.Close())
}

func zipFile(z *zip.Writer, folder, path string) error {
	in, err := os.Open(filepath.Join(folder, filepath.FromSlash(path)))
	if err != nil {
		return err
	}
	defer in.Close()
	to, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Deflate})
	if err == nil {
		_, err = io.Copy(to, in)
	}
	return err
}

// fileWriter writes a file and computes its digest.
type fileWriter struct {
	pack   *Writer
	path   string
	file   *os.File
	buffer *bufio.Writer
	sum    hash.Hash
	size   int64
}

func (f *fileWriter) Write(b []byte) (int, error) {
	n, err := f.buffer.Write(b)
	f.sum.Write(b[:n])
	f.size += int64(n)
	return n, err
}

// Close syncs the file to disk and adds it to the manifest.
func (f *fileWriter) Close() error {
	if !f.pack.open[f.path] {
		return os.ErrClosed
	}
	delete(f.pack.open, f.path)
	if err := errors.Join(f.buffer.Flush(), f.file.Sync(), f.file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	f.pack.files = append(f.pack.files, File{
		Path: f.path, Role: Role(f.path), MediaType: MediaType(f.path), Size: f.size, Hash: HashPrefix + hex.EncodeToString(f.sum.Sum(nil)),
	})
	return nil
}
