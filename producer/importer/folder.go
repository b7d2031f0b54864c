package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// eventFile are the names of files that hold one event of OpenHands each, with
// their numbers: of its versions 0.x, and of its SDK.
var eventFile = regexp.MustCompile(`^(?:([0-9]{1,9})|event-([0-9]{5,9})-.+)\.json$`)

const (
	eventFolder       = "events"
	conversationState = "base_state.json" // beside the folder
	eventPages        = "event_cache"     // beside the folder, copies of its events
)

// eventNumber is the place of an event by its file's name, and false for a file
// that holds none.
func eventNumber(name string) (int, bool) {
	m := eventFile.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(cmp.Or(m[1], m[2]))
	return n, err == nil
}

// isEventFolder reports whether a folder holds one event a file.
func isEventFolder(path string) bool {
	if filepath.Base(path) != eventFolder {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		_, ok := eventNumber(e.Name())
		return ok
	})
}

// folderReader reads a folder of events as if it were a log with an event a
// line, in the order of their numbers, and the conversation's state before them.
// One file is open at a time.
type folderReader struct {
	parts []folderPart
	next  int   // part
	rest  int64 // bytes of the open part that are left, its newline among them
	open  *os.File
	gone  map[string]model.Problem // files that cannot be read
}

type folderPart struct {
	number int
	path   string
	size   int64
}

// openFolder lists the events. What cannot be read of them is read as an empty
// line, so that the others keep their places.
func openFolder(path string) (*folderReader, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	f := &folderReader{gone: make(map[string]model.Problem)}
	state := filepath.Join(filepath.Dir(filepath.Clean(path)), conversationState)
	if info, err := os.Stat(state); err == nil && info.Mode().IsRegular() {
		f.parts = append(f.parts, folderPart{number: -1, path: state, size: info.Size()})
	}
	for _, entry := range entries {
		number, ok := eventNumber(entry.Name())
		if !ok {
			continue
		}
		part := folderPart{number: number, path: filepath.Join(path, entry.Name())}
		if info, err := os.Stat(part.path); err == nil && info.Mode().IsRegular() {
			part.size = info.Size()
		}
		f.parts = append(f.parts, part)
	}
	slices.SortStableFunc(f.parts, func(a, b folderPart) int { return cmp.Compare(a.number, b.number) })
	return f, nil
}

// Read reads on. A newline within a file, where JSON has white space, is a
// blank: files are lines.
func (f *folderReader) Read(p []byte) (int, error) {
	for f.rest == 0 {
		if err := f.Close(); err != nil {
			return 0, err
		}
		if f.next == len(f.parts) {
			return 0, io.EOF
		}
		part := &f.parts[f.next]
		f.next++
		f.rest = part.size + 1
		var err error
		if f.open, err = os.Open(part.path); err != nil {
			f.open = nil
			f.gone[part.path] = fileProblem(part.path, err, model.ReasonUnreadableFile)
		}
	}
	if len(p) == 0 {
		return 0, nil
	}
	if f.rest == 1 || f.open == nil { // a file that is gone is a line of its length
		n := int(min(f.rest, int64(len(p))))
		for i := range n {
			p[i] = ' '
		}
		if f.rest -= int64(n); f.rest == 0 {
			p[n-1] = '\n'
		}
		return n, nil
	}
	n, err := f.open.Read(p[:min(int64(len(p)), f.rest-1)])
	for i := bytes.IndexByte(p[:n], '\n'); i >= 0; i = bytes.IndexByte(p[:n], '\n') {
		p[i] = ' '
	}
	f.rest -= int64(n)
	if errors.Is(err, io.EOF) { // it is shorter than it was
		f.Close()
		err = nil
	}
	return n, err
}

// Seek goes to the start or to the end.
func (f *folderReader) Seek(offset int64, whence int) (int64, error) {
	if err := f.Close(); err != nil {
		return 0, err
	}
	switch {
	case offset == 0 && whence == io.SeekStart:
		f.next, f.rest = 0, 0
		return 0, nil
	case offset == 0 && whence == io.SeekEnd:
		var size int64
		for _, part := range f.parts {
			size += part.size + 1
		}
		f.next, f.rest = len(f.parts), 0
		return size, nil
	}
	return 0, fmt.Errorf("seek a folder of events: neither its start nor its end")
}

// Close closes the file that is open.
func (f *folderReader) Close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	return err
}

// problems puts the files in the places of the lines of problems, and adds those
// of files that cannot be read.
func (f *folderReader) problems(r *model.Report) {
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Line > 0 && p.Line <= len(f.parts) {
			p.File, p.Line = f.parts[p.Line-1].path, 0
		}
	}
	for _, path := range slices.Sorted(maps.Keys(f.gone)) {
		r.Add(f.gone[path])
	}
}
