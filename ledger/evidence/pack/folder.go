package pack

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	pathpkg "path"
	"slices"
	"strings"
)

// folder is a pack in a folder. [os.Root] prevents access to files outside of the folder. Links
// inside the folder are refused as well.
type folder struct{ root *os.Root }

func openFolder(path string) (container, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &folder{root}, nil
}

func (f *folder) list(limits Limits, add func(Entry) bool, fault func(path, reason string)) error {
	seen := 0
	empty := make(map[string]bool) // folders without a file yet
	defer func() {
		for _, path := range slices.Sorted(maps.Keys(empty)) {
			fault(path, emptyFolder)
		}
	}()
	return fs.WalkDir(f.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > limits.Files {
			fault("", fmt.Sprintf("more than %d files", limits.Files))
			return fs.SkipAll
		}
		if err != nil {
			fault(path, "cannot be read")
			return nil
		}
		switch {
		case d.IsDir():
			if strings.Count(path, "/") >= limits.Depth {
				fault(path, fmt.Sprintf("folders nested deeper than %d", limits.Depth))
				return fs.SkipDir
			}
			if path != "." {
				empty[path] = true
			}
			return nil
		case !d.Type().IsRegular():
			fault(path, kindOf(d.Type()))
			return nil
		}
		for parent := pathpkg.Dir(path); parent != "."; parent = pathpkg.Dir(parent) {
			delete(empty, parent)
		}
		info, err := d.Info()
		if err != nil {
			fault(path, "cannot be read")
			return nil
		}
		if !add(Entry{path, info.Size()}) {
			return fs.SkipAll
		}
		return nil
	})
}

// emptyFolder is the fault of a folder without files. No exporter makes one.
const emptyFolder = "an empty folder, which no exporter makes"

// kindOf returns the name of a file type that is not a regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device or another special file"
}

// open opens a regular file. The file can have been replaced after the listing. The type is
// therefore checked again before opening, because opening a pipe would wait.
func (f *folder) open(path string) (io.ReadCloser, error) {
	before, err := f.root.Lstat(path)
	if err == nil && !before.Mode().IsRegular() {
		err = &Fault{path, kindOf(before.Mode())}
	}
	if err != nil {
		return nil, err
	}
	file, err := f.root.Open(path)
	if err != nil {
		return nil, err
	}
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = &Fault{path, "the file was replaced while it was being opened"}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func (f *folder) Close() error { return f.root.Close() }
