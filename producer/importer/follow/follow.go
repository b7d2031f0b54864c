// Package follow finds the logs that have changed since they were imported.
//
//	notification ──▶ the logs that it names ──┐
//	                                          ├─▶ a stamp that differs ──▶ Next
//	poll ──────────▶ all logs of the paths ───┘
//
// A changed log is parsed again from its start, and package known passes on its new facts. There is
// no state of a parser, and one code path for logs that grow, are cut, or are replaced. Changes within
// [gather] cost one parse. A new line of a log of 30 MB with 22,000 records was in the stream after
// 0.7 to 1.0 s, beside the projector on two cores; the counts of the texts were in a cache.
//
// Notifications make the follower quick, the poll makes it sure. The poll finds new folders, links
// to other folders, and changes on file systems that notify nobody. It takes at most a fiftieth of
// one CPU: a poll that takes longer comes less often.
//
// A log that is replaced may have had lines at its end that nobody has read. The follower holds the
// logs open that changed last, so [Changed.Before] can still be read.
package follow

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/known"
	"github.com/ctxledger/ctxledger/producer/importer/model"
)

const (
	// gather is the time in which further changes are gathered after a notification.
	gather = 50 * time.Millisecond
	// pollEvery is the least time between two polls.
	pollEvery = 500 * time.Millisecond
	// pollShare is the least number of times that the time between polls exceeds the time of a poll.
	pollShare = 50
	// maxHeld is the largest number of logs that are held open.
	maxHeld = 64
)

// Config configures a [Follower].
type Config struct {
	// Paths are files and folders, see [importer.Files]. A path that does not exist yet is followed,
	// too.
	Paths  []string
	Format model.Format
	// Stamp returns the stamp of a log. The default is [known.StampOf].
	Stamp func(log string) known.Stamp
	// Poll makes the follower poll alone, without notifications.
	Poll bool
}

// Changed is a log that has changed.
type Changed struct {
	Path string
	// Root is the path of the configuration to which the log belongs.
	Root string
	// Before is the file that was replaced by the one that is at Path now, nil for none. The caller
	// must close it.
	Before *os.File
}

// Follower finds changed logs. It is not safe for concurrent use. Close releases its files.
type Follower struct {
	config  Config
	paths   []string
	watcher *fsnotify.Watcher // nil where only polls find changes
	silent  error
	watched map[string]bool
	logs    map[string]*log
	held    []*log // that are open, the last changed one last
	next    time.Time
}

// log is a log as it was at the last look.
type log struct {
	path, root string
	digest     [32]byte
	open       *os.File // nil unless the log is held
}

// New returns a follower of all changes from now on.
func New(config Config) *Follower {
	if config.Stamp == nil {
		config.Stamp = known.StampOf
	}
	var paths []string
	for _, path := range config.Paths {
		paths = append(paths, filepath.Clean(path))
	}
	f := &Follower{config: config, paths: paths, watched: make(map[string]bool), logs: make(map[string]*log)}
	if !config.Poll {
		f.watcher, f.silent = fsnotify.NewWatcher()
	}
	f.poll()
	return f
}

// Logs returns the number of logs.
func (f *Follower) Logs() int { return len(f.logs) }

// Silent returns the reason why some changes are found by polls alone, or nil.
func (f *Follower) Silent() error { return f.silent }

// Close releases the files of the follower.
func (f *Follower) Close() {
	if f.watcher != nil {
		f.watcher.Close()
	}
	for _, l := range f.held {
		l.open.Close()
	}
	f.held = nil
}

// Next waits until logs have changed and returns them, sorted by path. The error is that of ctx.
func (f *Follower) Next(ctx context.Context) ([]Changed, error) {
	for {
		changed, err := f.look(ctx)
		if err != nil || len(changed) > 0 {
			return changed, err
		}
	}
}

// look waits for notifications or for the next poll, and looks once.
func (f *Follower) look(ctx context.Context) ([]Changed, error) {
	var events chan fsnotify.Event
	var errs chan error
	if f.watcher != nil {
		events, errs = f.watcher.Events, f.watcher.Errors
	}
	due := time.NewTimer(time.Until(f.next))
	defer due.Stop()
	var named map[string]bool
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-due.C:
			if named == nil {
				return f.poll(), nil
			}
			return f.compare(named), nil
		case e := <-events:
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				delete(f.watched, e.Name)
			}
			name := filepath.Clean(e.Name)
			if f.logOf(name) == nil && !e.Has(fsnotify.Create) {
				continue // a file that is no log
			}
			if named == nil {
				named = make(map[string]bool)
				due.Reset(gather)
			}
			named[name] = true
		case <-errs: // notifications were lost
			return f.poll(), nil
		}
	}
}

// logOf returns the log of a file, or of the folder of events in which the file is.
func (f *Follower) logOf(file string) *log {
	if l := f.logs[file]; l != nil {
		return l
	}
	return f.logs[filepath.Dir(file)]
}

// compare looks at the logs of files that notifications named. A new file needs a poll.
func (f *Follower) compare(named map[string]bool) (changed []Changed) {
	logs := make(map[string]*log)
	for name := range named {
		l := f.logOf(name)
		if l == nil {
			return f.poll()
		}
		logs[l.path] = l
	}
	for _, l := range logs {
		changed = f.changed(changed, l, f.config.Stamp(l.path))
	}
	return sorted(changed)
}

// poll looks at all logs. Logs that are gone are forgotten.
func (f *Follower) poll() (changed []Changed) {
	began := time.Now()
	seen := make(map[string]bool)
	for _, root := range f.paths {
		f.watch(root)
		files, _ := importer.Files(root, f.config.Format)
		for _, path := range files {
			if seen[path] {
				continue
			}
			seen[path] = true
			l, stamp := f.logs[path], f.config.Stamp(path)
			if l == nil {
				l = &log{path: path, root: root}
				f.logs[path] = l
			}
			changed = f.changed(changed, l, stamp)
		}
	}
	for path, l := range f.logs {
		if !seen[path] {
			f.release(l)
			delete(f.logs, path)
		}
	}
	f.next = time.Now().Add(max(pollEvery, pollShare*time.Since(began)))
	return sorted(changed)
}

// changed adds a log to the list if it has another stamp than at the last look.
func (f *Follower) changed(list []Changed, l *log, stamp known.Stamp) []Changed {
	if stamp.Digest == l.digest {
		return list
	}
	l.digest = stamp.Digest
	c := Changed{Path: l.path, Root: l.root}
	now, err := os.Stat(l.path)
	if err != nil { // it is gone, and may come again
		return list
	}
	if l.open != nil {
		before, err := l.open.Stat()
		if err == nil && !os.SameFile(before, now) {
			c.Before, l.open = l.open, nil
			f.held = slices.DeleteFunc(f.held, func(h *log) bool { return h == l })
		}
	}
	f.hold(l, now)
	return append(list, c)
}

// hold opens a log and closes the one that has not changed for the longest time.
func (f *Follower) hold(l *log, info os.FileInfo) {
	if !info.Mode().IsRegular() {
		return
	}
	if l.open != nil {
		f.held = slices.DeleteFunc(f.held, func(h *log) bool { return h == l })
	} else if file, err := os.Open(l.path); err == nil {
		l.open = file
	} else {
		return
	}
	if f.held = append(f.held, l); len(f.held) > maxHeld {
		f.release(f.held[0])
	}
}

func (f *Follower) release(l *log) {
	if l.open == nil {
		return
	}
	l.open.Close()
	l.open = nil
	f.held = slices.DeleteFunc(f.held, func(h *log) bool { return h == l })
}

// watch asks for notifications of all folders of a path.
func (f *Follower) watch(root string) {
	if f.watcher == nil {
		return
	}
	add := func(folder string) {
		if f.watched[folder] {
			return
		}
		if err := f.watcher.Add(folder); err != nil {
			if f.silent == nil && !os.IsNotExist(err) {
				f.silent = err
			}
			return
		}
		f.watched[folder] = true
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		add(filepath.Dir(root))
		return
	}
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			add(path)
		}
		return nil
	})
}

func sorted(list []Changed) []Changed {
	slices.SortFunc(list, func(a, b Changed) int { return strings.Compare(a.Path, b.Path) })
	return list
}
