package pack

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// zipped is a pack in a zip.
type zipped struct {
	file   *os.File
	files  []*zip.File
	byPath map[string]*zip.File
}

func openZip(path string, size int64, limits Limits) (container, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	directory := &meteredReader{from: file, left: limits.Directory}
	z, err := zip.NewReader(directory, size)
	if err != nil && err != zip.ErrInsecurePath {
		_ = file.Close()
		if directory.left < 0 {
			return nil, &Fault{Reason: fmt.Sprintf("a zip whose directory has more than %d bytes", limits.Directory)}
		}
		return nil, &Fault{Reason: "neither a folder nor a readable zip: " + err.Error()}
	}
	directory.done = true
	if err := checkLayout(file, size, limits.Directory); err != nil {
		_ = file.Close()
		if errors.Is(err, errLayout) {
			return nil, &Fault{Reason: err.Error()}
		}
		return nil, err
	}
	z.RegisterDecompressor(zip.Deflate, inflate)
	return &zipped{file: file, files: z.File, byPath: make(map[string]*zip.File)}, nil
}

// list refuses every name that is not a plain path of a file in the pack. Entries with the same
// name are all refused.
func (z *zipped) list(limits Limits, add func(Entry) bool, fault func(path, reason string)) error {
	count := make(map[string]int)
	held := make(map[string]bool) // folders of files, with the slash
	for _, f := range z.files {
		count[f.Name]++
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		for i := strings.LastIndexByte(f.Name, '/'); i >= 0 && !held[f.Name[:i+1]]; i = strings.LastIndexByte(f.Name[:i], '/') {
			held[f.Name[:i+1]] = true
		}
	}
	for i, f := range z.files {
		if i >= limits.Files {
			fault("", fmt.Sprintf("more than %d files", limits.Files))
			return nil
		}
		if reason := refuseZipFile(f, limits); reason != "" {
			fault(f.Name, reason)
			continue
		}
		if strings.HasSuffix(f.Name, "/") {
			if !held[f.Name] {
				fault(f.Name, emptyFolder)
			}
			continue
		}
		if count[f.Name] > 1 {
			fault(f.Name, "the zip has this name twice")
			continue
		}
		z.byPath[f.Name] = f
		if !add(Entry{f.Name, int64(f.UncompressedSize64)}) {
			return nil
		}
	}
	return nil
}

// refuseZipFile returns the reason for refusing an entry, or "".
func refuseZipFile(f *zip.File, limits Limits) string {
	name := strings.TrimSuffix(f.Name, "/")
	size, packed := f.UncompressedSize64, f.CompressedSize64
	switch {
	case !fs.ValidPath(name) || strings.ContainsAny(name, "\\:\x00"):
		return "the name leads out of the pack or is no plain path"
	case strings.Count(name, "/") >= limits.Depth:
		return fmt.Sprintf("folders nested deeper than %d", limits.Depth)
	case name != f.Name && size > 0:
		return "a folder with content"
	case name == f.Name && !f.Mode().IsRegular():
		return kindOf(f.Mode())
	case f.Flags&1 != 0:
		return "encrypted"
	case size > 1<<62:
		return "the stated size is impossible"
	case size > ratioFrom && size/uint64(limits.Ratio) > packed:
		return fmt.Sprintf("%d bytes packed into %d: this is a zip bomb", size, packed)
	}
	return ""
}

func (z *zipped) open(path string) (io.ReadCloser, error) {
	f, ok := z.byPath[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	from, err := f.Open()
	if err != nil {
		return nil, &Fault{path, "the compression method is unknown, or the entry is incomplete"}
	}
	return &unpacked{from, path}, nil
}

// unpacked is an entry with errors in plain words.
type unpacked struct {
	io.ReadCloser
	path string
}

func (u *unpacked) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, zip.ErrChecksum):
		err = &Fault{u.path, "its bytes do not match the checksum in the zip"}
	case errors.Is(err, zip.ErrFormat), errors.As(err, &corrupt), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errBehind):
		err = &Fault{u.path, "its packed bytes were changed: they do not unpack to the stated size"}
	}
	return n, err
}

func (z *zipped) Close() error { return z.file.Close() }

// inflate unpacks all bytes of an entry. Bytes behind the last block are an error.
func inflate(from io.Reader) io.ReadCloser {
	packed := bufio.NewReader(from)
	return &inflater{flate.NewReader(packed), packed}
}

var errBehind = errors.New("bytes behind the end of the packed data")

type inflater struct {
	io.ReadCloser
	packed *bufio.Reader // the reader above reads no more than it needs
}

func (i *inflater) Read(b []byte) (int, error) {
	n, err := i.ReadCloser.Read(b)
	if err == io.EOF {
		if _, more := i.packed.ReadByte(); more != io.EOF {
			return n, errBehind
		}
	}
	return n, err
}

// meteredReader returns at most left bytes until done is set, because the zip library reads the
// whole directory into memory.
type meteredReader struct {
	from io.ReaderAt
	left int64
	done bool
}

func (m *meteredReader) ReadAt(b []byte, at int64) (int, error) {
	if m.done {
		return m.from.ReadAt(b, at)
	}
	if m.left -= int64(len(b)); m.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return m.from.ReadAt(b, at)
}
