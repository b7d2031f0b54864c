package importer

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// Files returns the session logs at path: path itself when it is a file, or
// every *.jsonl file below it, sorted, when it is a folder. Links to files are
// followed and links to folders below path are not, so a cycle of links ends.
// What cannot be read is a problem and does not keep the rest from being
// found.
func Files(path string) ([]string, []Problem) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, []Problem{fileProblem(path, err, ReasonUnreadableFile)}
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, problems := filesBelow(path)
	if len(files) == 0 && len(problems) == 0 {
		problems = append(problems, Problem{File: path, Reason: ReasonNoTranscripts, Detail: "no *.jsonl file in this folder or below"})
	}
	return files, problems
}

func filesBelow(folder string) (files []string, problems []Problem) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		problems = append(problems, fileProblem(folder, err, ReasonUnreadableFolder))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if entry.IsDir() {
			moreFiles, moreProblems := filesBelow(path)
			files, problems = append(files, moreFiles...), append(problems, moreProblems...)
			continue
		}
		if !strings.HasSuffix(entry.Name(), ".jsonl") {
			continue
		}
		info, err := os.Stat(path) // follows a link
		switch {
		case err != nil:
			problems = append(problems, fileProblem(path, err, ReasonUnreadableFile))
		case info.Mode().IsRegular():
			files = append(files, path)
		}
	}
	return files, problems
}

// ClaudeCodeFile imports the session log at path as [ClaudeCode] does. A file
// that cannot be opened is a problem of the report and no error.
func ClaudeCodeFile(ctx context.Context, path string, opts Options, emit func(*schema.Event) error) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{Files: 1, Problems: []Problem{fileProblem(path, err, ReasonUnreadableFile)}}, nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return Report{Files: 1, Problems: []Problem{{File: path, Reason: ReasonUnreadableFile, Detail: "not a regular file"}}}, nil
	}
	return ClaudeCode(ctx, path, f, opts, emit)
}

func fileProblem(path string, err error, reason Reason) Problem {
	detail := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		reason = ReasonNotFound
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		detail = pathError.Err.Error()
	}
	return Problem{File: path, Reason: reason, Detail: detail}
}
