package cli

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// LogFolder is a folder of this machine where a client keeps its session logs.
type LogFolder struct {
	Client string
	Format model.Format
	Path   string // absolute
}

// LogFolders returns the folders that exist, of this user. A client's own variable names another
// folder than its usual one.
func LogFolders() (found []LogFolder) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	for _, f := range []LogFolder{
		{"Claude Code", model.FormatClaudeCode, filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), "projects")},
		{"Codex", model.FormatCodex, filepath.Join(cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "sessions")},
		{"OpenHands", model.FormatOpenHands, filepath.Join(home, ".openhands")},
	} {
		if info, err := os.Stat(f.Path); err == nil && info.IsDir() {
			found = append(found, f)
		}
	}
	return found
}
