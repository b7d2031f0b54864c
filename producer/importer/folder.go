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

// eventFile matches the names of files that hold one OpenHands event each, and captures the
// number. The first form is of versions 0.x, the second of the SDK.
var eventFile = regexp.MustCompile(`^(?:([0-9]{1,9})|event-([0-9]{5,9})-.+)\.json$`)

const (
	eventFolder       = "events"
	conversationState = "base_state.json" // next to the events folder
	eventPages        = "event_cache"     // next to the events folder, with copies of the events
)

// eventNumber returns the number of an event by the name of its file. eventNumber returns false
// for a file without an event.
func eventNumber(name string) (int, bool) {
	m := eventFile.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(cmp.Or(m[1], m[2]))
	return n, err == nil
}

// isEventFolder reports whether a folder holds one event per file.
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

// folderReader reads a folder of events like a log with one event per line. The conversation's
// state comes first, then the events in the order of their numbers. One file is open at a time.
type folderReader struct {
	parts []folderPart
	next  int   // index of the part
	rest  int64 // remaining bytes of the open part, including its newline
	open  *os.File
	gone  map[string]model.Problem // files that cannot be read
}

type folderPart struct {
	number int
	path   string
	size   int64
}

// openFolder lists the events. A file that cannot be read is read as an empty line, so the other
// events keep their line numbers. The last event of a growing log is not listed while it is written.
func openFolder(path string, growing bool) (*folderReader, error) {
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
	if last := len(f.parts) - 1; growing && last >= 0 && f.parts[last].number >= 0 && isCut(f.parts[last].path) {
		f.parts = f.parts[:last]
	}
	return f, nil
}

// Read continues in the open part. A newline inside a file becomes a blank, because each file is
// one line. In JSON both are white space.
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
	if f.rest == 1 || f.open == nil { // a missing file becomes a line of the file's length
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
	if errors.Is(err, io.EOF) { // the file is now shorter
		f.Close()
		err = nil
	}
	return n, err
}

// Seek supports the start and the end only.
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
	return 0, fmt.Errorf("seek in a folder of events: only its start and its end are supported")
}

// Close closes the open file.
func (f *folderReader) Close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	return err
}

// problems replaces the line numbers of problems by file names. problems adds the problems of
// files that cannot be read.
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
