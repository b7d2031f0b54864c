package importer

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/ctxledger/ctxledger/producer/importer/claudebodies"
	"github.com/ctxledger/ctxledger/producer/importer/claudecode"
	"github.com/ctxledger/ctxledger/producer/importer/codex"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/producer/importer/openhands"
	"github.com/ctxledger/ctxledger/producer/importer/sweagent"
	"github.com/ctxledger/ctxledger/schema"
)

// Import imports a log of the format with the format's Import function. For FormatAuto it detects
// the format first. A log of an unknown format is a problem of the report with
// [model.ReasonUnknownFormat], and no error.
func Import(ctx context.Context, f model.Format, file string, r io.ReadSeeker, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	if opts.Growing {
		whole, size, err := complete(r)
		if err != nil {
			return model.Report{Files: 1}, fmt.Errorf("read %s: %w", file, err)
		}
		if r = whole; size == 0 {
			return model.Report{Files: 1}, nil
		}
	}
	if f == model.FormatAuto {
		found, looked, err := Detect(r)
		if err != nil {
			return model.Report{Files: 1}, fmt.Errorf("read %s: %w", file, err)
		}
		if found == "" {
			return model.Report{Files: 1, Problems: []model.Problem{{File: file, Reason: model.ReasonUnknownFormat, Detail: looked}}}, nil
		}
		f = found
	}
	switch f {
	case model.FormatClaudeCode:
		return claudecode.Import(ctx, file, r, opts, emit)
	case model.FormatCodex:
		return codex.Import(ctx, file, r, opts, emit)
	case model.FormatSWEAgent:
		return sweagent.Import(ctx, file, r, opts, emit)
	case model.FormatOpenHands:
		return openhands.Import(ctx, file, r, opts, emit)
	case model.FormatClaudeBodies:
		return claudebodies.Import(ctx, file, r, opts, emit)
	}
	_, err := model.ParseFormat(string(f))
	return model.Report{}, err
}

// ImportFile imports the session log at path like [Import]. A file that cannot be opened is a
// problem of the report and no error. A folder with one event per file is one log, see [Files].
func ImportFile(ctx context.Context, f model.Format, path string, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return model.Report{Files: 1, Problems: []model.Problem{fileProblem(path, err, model.ReasonUnreadableFile)}}, nil
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() && f.HasFolders() && isEventFolder(path) {
			return importFolder(ctx, f, path, opts, emit)
		}
		return model.Report{Files: 1, Problems: []model.Problem{{File: path, Reason: model.ReasonUnreadableFile, Detail: "not a regular file"}}}, nil
	}
	return Import(ctx, f, path, file, opts, emit)
}

// importFolder imports a folder of events. The problems name the files of the folder.
func importFolder(ctx context.Context, f model.Format, path string, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	folder, err := openFolder(path, opts.Growing)
	if err != nil {
		return model.Report{Files: 1, Problems: []model.Problem{fileProblem(path, err, model.ReasonUnreadableFolder)}}, nil
	}
	defer folder.Close()
	report, err := Import(ctx, f, path, folder, opts, emit)
	folder.problems(&report)
	return report, err
}
