package model

import (
	"fmt"
	"slices"
	"strings"
)

// Format is a kind of session log. Its value is the name of the program that writes the log.
type Format string

// The formats that can be imported. FormatAuto detects the format of each file.
const (
	FormatAuto       Format = "auto"
	FormatClaudeCode Format = "claude-code"
	FormatCodex      Format = "codex"
	FormatSWEAgent   Format = "swe-agent"
	FormatOpenHands  Format = "openhands"

	// FormatClaudeBodies is a folder of requests and responses with an index. Detection by content
	// does not find it, because its files are no logs.
	FormatClaudeBodies Format = "claude-bodies"
)

// Formats returns the formats of session logs, FormatAuto first.
func Formats() []Format {
	return []Format{FormatAuto, FormatClaudeCode, FormatCodex, FormatSWEAgent, FormatOpenHands}
}

// Sources returns all formats that ParseFormat accepts.
func Sources() []Format { return append(Formats(), FormatClaudeBodies) }

// ParseFormat returns the format of that name. The error lists all names.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Sources(), f) {
		return f, nil
	}
	return "", fmt.Errorf("unknown format %q: use auto, claude-code, codex, swe-agent, openhands or claude-bodies", name)
}

// suffixes returns the suffixes of the names of a format's files, nil for any name.
func (f Format) suffixes() []string {
	switch f {
	case FormatClaudeCode, FormatCodex:
		return []string{".jsonl"}
	case FormatSWEAgent:
		return []string{".traj", ".json"}
	case FormatOpenHands:
		return []string{".jsonl", ".json"}
	case FormatClaudeBodies:
		return []string{"index.jsonl"}
	}
	return nil
}

// HasFolders reports whether a log of the format may be a folder.
func (f Format) HasFolders() bool { return f == FormatOpenHands || f == FormatAuto }

func (f Format) Named(name string) bool {
	suffixes := f.suffixes()
	return suffixes == nil || slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

func (f Format) NoFiles() string {
	if f.suffixes() == nil {
		return "there is no file in this folder or below it"
	}
	return "there is no *" + strings.Join(f.suffixes(), " or *") + " file in this folder or below it"
}
