package known

import (
	"bytes"
	"encoding/gob"
	"os"
	"path/filepath"

	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// Folder is the memory of this machine: for each log, a file with its [Entry] and one with its [Counts]. A Folder that is "" remembers nothing.
// Several processes may use it at once; the last one wins.
type Folder string

// FolderOf returns the memory of a tenant's logs below a data folder. place names the stream.
func FolderOf(data, tenant, place string) Folder {
	return Folder(filepath.Join(data, "imports", nameOf(tenant, place)))
}

// Entry is what this machine knows of the last import of a log.
type Entry struct {
	Stamp  Stamp
	At     []Place // of each stream of events; empty for an account that may not look
	Report []byte  // of the log, see [model.Report.Kept]
}

// file returns the file of a log. kind has everything else that decides the facts and where they go.
func (f Folder) file(log, kind string) (string, error) {
	path, err := filepath.Abs(log)
	if err != nil {
		return "", err
	}
	return filepath.Join(string(f), nameOf(path, kind)), nil
}

// Find returns the entry of a log whose stamp is the same now. A damaged entry is none.
func (f Folder) Find(log, kind string, now Stamp) (e Entry, report model.Report, ok bool) {
	if f == "" || !now.sure() {
		return e, report, false
	}
	file, err := f.file(log, kind)
	if err != nil {
		return e, report, false
	}
	text, err := os.ReadFile(file)
	if err != nil || gob.NewDecoder(bytes.NewReader(text)).Decode(&e) != nil || !e.Stamp.same(now) {
		return e, report, false
	}
	report, err = model.Restored(e.Report)
	return e, report, err == nil
}

// Keep keeps the entry of a log.
func (f Folder) Keep(log, kind string, e Entry) error {
	if f == "" || !e.Stamp.sure() {
		return nil
	}
	file, err := f.file(log, kind)
	if err != nil {
		return err
	}
	return f.replace(file, e)
}

// replace writes a value into a file. The file is replaced as a whole. It is not synced, since it is
// safe to lose.
func (f Folder) replace(file string, value any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(value); err != nil {
		return err
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(string(f), ".part-*")
	if err != nil {
		return err
	}
	_, err = part.Write(b.Bytes())
	if closing := part.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		os.Remove(part.Name())
	}
	return err
}
