package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Limits bound what reading a pack may cost.
type Limits struct {
	Files     int   // files and folders in the pack
	FileSize  int64 // bytes of one file
	TotalSize int64 // bytes of all files
	// Ratio is how many times larger than in the zip a file may be that has more
	// than a megabyte. Deflate reaches 1032 with nothing but repetition.
	Ratio     int64
	Directory int64 // bytes of a zip's own directory
	Depth     int   // folders within each other
	Line      int   // bytes of a line
	Document  int64 // bytes of a file that is read whole
}

// DefaultLimits are those of [Open] for a pack of some ten million records.
func DefaultLimits() Limits {
	return Limits{
		Files: 10_000, FileSize: 64 << 30, TotalSize: 128 << 30, Ratio: 200,
		Directory: 4 << 20, Depth: 8, Line: 64 << 20, Document: 64 << 20,
	}
}

// ratioFrom is the size in bytes from which [Limits.Ratio] holds.
const ratioFrom = 1 << 20

// A Fault is something that a pack must not have, or that cannot be read.
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

// Entry is a file of a pack that can be read.
type Entry struct {
	Path string
	Size int64 // bytes, unpacked
}

// container is a folder or a zip.
type container interface {
	// list calls add for each regular file and fault for everything else that
	// must not be there.
	list(limits Limits, add func(Entry) bool, fault func(path, reason string)) error
	open(path string) (io.ReadCloser, error)
	io.Closer
}

// Reader reads a pack that anyone may have made. Nothing outside of the pack is
// opened, whatever it holds, and nothing is written. Safe for concurrent use.
type Reader struct {
	from    container
	limits  Limits
	entries []Entry
	faults  []*Fault
}

// Open opens the pack at path, a folder or a zip. What it must not have, such
// as links or names that lead out of it, is left out and listed by
// [Reader.Faults]. The error is a [*Fault] when path is no pack at all, and
// otherwise that of the file system.
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
			fault(e.Path, fmt.Sprintf("%d bytes, where %d are allowed", e.Size, limits.FileSize))
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

// Files lists what can be read, sorted by path. It must not be changed.
func (r *Reader) Files() []Entry { return r.entries }

// Faults lists what was found on opening and left out.
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

// Open opens a file of the pack, from which no more bytes come than it had when
// the pack was opened. The error wraps [fs.ErrNotExist] when it is not there.
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
		return nil, &Fault{path, fmt.Sprintf("%d bytes, where %d are allowed", e.Size, r.limits.Document)}
	}
	f, err := r.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// Close closes the pack.
func (r *Reader) Close() error { return r.from.Close() }

// boundedFile gives what a file was said to have and no more.
type boundedFile struct {
	io.ReadCloser
	path string
	left int64
}

func (f *boundedFile) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if f.left -= int64(n); f.left < 0 {
		return 0, &Fault{f.path, "more bytes than it had at first"}
	}
	return n, err
}
