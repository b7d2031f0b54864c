package importer

import (
	"cmp"
	"errors"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files returns the session logs at path, sorted. For a file the result is path. For a folder the
// result is every file below path that has a name of the format. For FormatAuto the result is
// every file below path, except names that begin with a dot, of files or folders.
//
// Files follows links to files. Files does not follow links to folders below path, so a cycle of
// links ends. A file or folder that cannot be read is a problem; the search continues.
//
// OpenHands keeps a conversation in a folder, with one event per file. This folder is one log.
// Files lists its events folder. The files of the folder, the conversation's state and the copies
// of the events are not listed.
func Files(path string, f model.Format) ([]string, []model.Problem) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, []model.Problem{fileProblem(path, err, model.ReasonUnreadableFile)}
	}
	if !info.IsDir() || f.HasFolders() && isEventFolder(path) {
		return []string{path}, nil
	}
	files, problems := filesBelow(path, f)
	if len(files) == 0 && len(problems) == 0 {
		problems = append(problems, model.Problem{File: path, Reason: model.ReasonNoTranscripts, Detail: f.NoFiles()})
	}
	return files, problems
}

func filesBelow(folder string, f model.Format) (files []string, problems []model.Problem) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		problems = append(problems, fileProblem(folder, err, model.ReasonUnreadableFolder))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	conversation := f.HasFolders() && isEventFolder(filepath.Join(folder, eventFolder))
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if f == model.FormatAuto && strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if conversation && (entry.Name() == conversationState || entry.Name() == eventPages) {
			continue
		}
		if conversation && entry.Name() == eventFolder {
			files = append(files, path)
			continue
		}
		if entry.IsDir() {
			moreFiles, moreProblems := filesBelow(path, f)
			files, problems = append(files, moreFiles...), append(problems, moreProblems...)
			continue
		}
		if !f.Named(entry.Name()) {
			continue
		}
		info, err := os.Stat(path) // Stat follows a link
		switch {
		case err != nil:
			problems = append(problems, fileProblem(path, err, model.ReasonUnreadableFile))
		case info.Mode().IsRegular():
			files = append(files, path)
		}
	}
	return files, problems
}

func fileProblem(path string, err error, reason model.Reason) model.Problem {
	detail := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		reason = model.ReasonNotFound
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		detail = pathError.Err.Error()
	}
	return model.Problem{File: path, Reason: reason, Detail: detail}
}
