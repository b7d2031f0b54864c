package pack

import (
	"io/fs"
	"path"
	"time"
)

// FS returns the pack as a file system with the files of [Reader.Files], without folders.
func (r *Reader) FS() fs.FS { return packFS{r} }

type packFS struct{ r *Reader }

func (f packFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := f.r.Open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	e, _ := f.r.find(name)
	return packFile{file.(*boundedFile), e}, nil
}

// packFile is a file of a pack and its own [fs.FileInfo].
type packFile struct {
	*boundedFile
	e Entry
}

func (f packFile) Stat() (fs.FileInfo, error) { return packInfo{f.e}, nil }

type packInfo struct{ e Entry }

func (i packInfo) Name() string       { return path.Base(i.e.Path) }
func (i packInfo) Size() int64        { return i.e.Size }
func (i packInfo) Mode() fs.FileMode  { return 0o444 }
func (i packInfo) ModTime() time.Time { return time.Time{} }
func (i packInfo) IsDir() bool        { return false }
func (i packInfo) Sys() any           { return nil }
