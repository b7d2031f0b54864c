package importer

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/ctxledger/ctxledger/schema"
)

// Import imports a log of the format, as the format's own function does. For
// FormatAuto it looks at the log first; one of no format is a problem of the
// report, with [ReasonUnknownFormat], and no error.
func Import(ctx context.Context, f Format, file string, r io.ReadSeeker, opts Options, emit func(*schema.Event) error) (Report, error) {
	if f == FormatAuto {
		found, looked, err := Detect(r)
		if err != nil {
			return Report{Files: 1}, fmt.Errorf("read %s: %w", file, err)
		}
		if found == "" {
			return Report{Files: 1, Problems: []Problem{{File: file, Reason: ReasonUnknownFormat, Detail: looked}}}, nil
		}
		f = found
	}
	switch f {
	case FormatClaudeCode:
		return ClaudeCode(ctx, file, r, opts, emit)
	case FormatCodex:
		return Codex(ctx, file, r, opts, emit)
	case FormatSWEAgent:
		return SWEAgent(ctx, file, r, opts, emit)
	case FormatOpenHands:
		return OpenHands(ctx, file, r, opts, emit)
	}
	_, err := ParseFormat(string(f))
	return Report{}, err
}

// ImportFile imports the session log at path as [Import] does. A file that
// cannot be opened is a problem of the report and no error. A folder with an
// event a file, as [Files] finds them, is one log.
func ImportFile(ctx context.Context, f Format, path string, opts Options, emit func(*schema.Event) error) (Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return Report{Files: 1, Problems: []Problem{fileProblem(path, err, ReasonUnreadableFile)}}, nil
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() && f.hasFolders() && isEventFolder(path) {
			return importFolder(ctx, f, path, opts, emit)
		}
		return Report{Files: 1, Problems: []Problem{{File: path, Reason: ReasonUnreadableFile, Detail: "not a regular file"}}}, nil
	}
	return Import(ctx, f, path, file, opts, emit)
}

// importFolder imports a folder of events. Problems name its files.
func importFolder(ctx context.Context, f Format, path string, opts Options, emit func(*schema.Event) error) (Report, error) {
	folder, err := openFolder(path)
	if err != nil {
		return Report{Files: 1, Problems: []Problem{fileProblem(path, err, ReasonUnreadableFolder)}}, nil
	}
	defer folder.Close()
	report, err := Import(ctx, f, path, folder, opts, emit)
	folder.problems(&report)
	return report, err
}
