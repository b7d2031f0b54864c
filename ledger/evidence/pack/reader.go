package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Limits bound the cost of reading a pack.
type Limits struct {
	Files     int   // files and folders in the pack
	FileSize  int64 // bytes of one file
	TotalSize int64 // bytes of all files
	// Ratio bounds unpacked size divided by packed size, for files above one MiB in a zip. Deflate
	// reaches at most 1032, for a repeated byte.
	Ratio     int64
	Directory int64 // bytes of a zip's directory
	Depth     int   // nested folders
	Line      int   // bytes of a line
	Document  int64 // bytes of a file that is read in one piece
}

// DefaultLimits returns the limits for a pack of about ten million records.
func DefaultLimits() Limits {
	return Limits{
		Files: 10_000, FileSize: 64 << 30, TotalSize: 128 << 30, Ratio: 200,
		Directory: 4 << 20, Depth: 8, Line: 16 << 20, Document: 64 << 20,
	}
}

// ratioFrom is the size in bytes above which [Limits.Ratio] applies.
const ratioFrom = 1 << 20

// A Fault is a forbidden or unreadable part of a pack.
type Fault struct {
	Path   string // in the pack; "" for the pack itself
	Reason string
}

func (f *Fault) Error() string {
	if f.Path == "" {
		return f.Reason
	}
	return f.Path + ": " + f.Reason
}

// Entry is a readable file of a pack.
type Entry struct {
	Path string
	Size int64 // bytes, unpacked
}

// container is a folder or a zip.
type container interface {
	// list calls add for each regular file and fault for everything else that is forbidden.
	list(limits Limits, add func(Entry) bool, fault func(path, reason string)) error
	open(path string) (io.ReadCloser, error)
	io.Closer
}

// Reader reads a pack from an untrusted source. Reader opens no file outside of the pack and writes
// nothing. Safe for concurrent use.
type Reader struct {
	from    container
	limits  Limits
	entries []Entry
	faults  []*Fault
}

// Open opens the pack at path, a folder or a zip. Forbidden parts, such as links or names that lead
// out of the pack, are left out. [Reader.Faults] lists the forbidden parts. The error is a [*Fault]
// when path is not a pack, and otherwise an error of the file system.
func Open(path string, limits Limits) (*Reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the pack: %w", err)
	}
	r := &Reader{limits: limits}
	switch {
	case info.IsDir():
		r.from, err = openFolder(path)
	case info.Mode().IsRegular():
		r.from, err = openZip(path, info.Size(), limits)
	default:
		err = &Fault{Reason: "neither a folder nor a zip"}
	}
	if err != nil {
		return nil, fmt.Errorf("open the pack: %w", err)
	}
	var total int64
	fault := func(path, reason string) { r.faults = append(r.faults, &Fault{clip(path), reason}) }
	add := func(e Entry) bool {
		switch total += e.Size; {
		case len(r.entries) >= limits.Files:
			fault("", fmt.Sprintf("more than %d files", limits.Files))
			return false
		case e.Size > limits.FileSize:
			fault(e.Path, fmt.Sprintf("%d bytes, at most %d are allowed", e.Size, limits.FileSize))
			return true
		case total > limits.TotalSize:
			fault("", fmt.Sprintf("more than %d bytes", limits.TotalSize))
			return false
		}
		r.entries = append(r.entries, e)
		return true
	}
	if err := r.from.list(limits, add, fault); err != nil {
		return nil, errors.Join(fmt.Errorf("list the pack: %w", err), r.from.Close())
	}
	slices.SortFunc(r.entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return r, nil
}

// Files returns the readable files, sorted by path. Callers must not change the list.
func (r *Reader) Files() []Entry { return r.entries }

// Faults returns the parts that [Open] left out.
func (r *Reader) Faults() []*Fault { return r.faults }

// Has reports whether the pack has the file.
func (r *Reader) Has(path string) bool {
	_, ok := r.find(path)
	return ok
}

func (r *Reader) find(path string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(r.entries, path, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
	if !ok {
		return Entry{}, false
	}
	return r.entries[i], true
}

// Open opens a file of the pack. The file is cut at the size that the pack listed on opening. The
// error wraps [fs.ErrNotExist] when the pack does not have the file.
func (r *Reader) Open(path string) (io.ReadCloser, error) {
	e, ok := r.find(path)
	if !ok {
		return nil, fmt.Errorf("%s: %w", clip(path), fs.ErrNotExist)
	}
	f, err := r.from.open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &boundedFile{f, path, e.Size}, nil
}

// ReadFile reads a file of at most [Limits.Document] bytes.
func (r *Reader) ReadFile(path string) ([]byte, error) {
	if e, ok := r.find(path); ok && e.Size > r.limits.Document {
		return nil, &Fault{path, fmt.Sprintf("%d bytes, at most %d are allowed", e.Size, r.limits.Document)}
	}
	f, err := r.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	if e, ok := r.find(path); ok {
		text.Grow(int(e.Size) + bytes.MinRead)
	}
	if _, err := text.ReadFrom(f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text.Bytes(), nil
}

// Limits returns the limits of the reader.
func (r *Reader) Limits() Limits { return r.limits }

// Close closes the pack.
func (r *Reader) Close() error { return r.from.Close() }

// boundedFile returns at most the listed size of a file.
type boundedFile struct {
	io.ReadCloser
	path string
	left int64
}

func (f *boundedFile) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if f.left -= int64(n); f.left < 0 {
		return 0, &Fault{f.path, "the file has grown while it was being read"}
	}
	return n, err
}
