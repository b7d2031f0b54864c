package pack

import (
	"fmt"
	"strconv"
	"strings"
)

// The files of a pack.
const (
	HeaderFile       = "header.json"
	EventsFile       = "events.ndjson"
	PackFile         = "pack.json"
	SourceMapFile    = "source-map.json"
	ProvenanceFile   = "provenance.json"
	ReplayFile       = "replay.json"
	VerificationFile = "verification.json"
	ReadmeFile       = "README.md"
	ManifestFile     = "export-manifest.json"
	AttestationFile  = "attestation.dsse.json"
)

// contextFolder and proofFolder hold what there may be several of.
const (
	contextFolder = "context/"
	proofFolder   = "proofs/"
)

// ContextFile is the file of the Agent Context documents of a kind, such as
// items or missing_context.
func ContextFile(kind string) string { return contextFolder + kind + ".json" }

// IsContextFile reports whether path is that of a [ContextFile].
func IsContextFile(path string) bool {
	return strings.HasPrefix(path, contextFolder) && strings.HasSuffix(path, ".json")
}

// CheckpointFile is the signed head of log n, counted from 1.
func CheckpointFile(n int) string { return proofFile(n, "checkpoint") }

// LeavesFile lists the leaves of log n in the pack, counted from 1.
func LeavesFile(n int) string { return proofFile(n, "leaves") }

// HashesFile is the multiproof of the leaves of log n, counted from 1.
func HashesFile(n int) string { return proofFile(n, "hashes") }

func proofFile(n int, name string) string { return fmt.Sprintf("%s%d/%s", proofFolder, n, name) }

// IsProofFile reports whether path is one of the files of a log.
func IsProofFile(path string) bool {
	rest, ok := strings.CutPrefix(path, proofFolder)
	number, name, both := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	return ok && both && err == nil && n > 0 && proofFile(n, name) == path && (name == "checkpoint" || name == "leaves" || name == "hashes")
}

// Role says what a file is in a pack, in the words of the manifest.
func Role(path string) string {
	switch {
	case IsContextFile(path):
		return "context"
	case IsProofFile(path):
		return "proof"
	}
	switch path {
	case HeaderFile:
		return "header"
	case EventsFile:
		return "records"
	case PackFile:
		return "pack"
	case SourceMapFile:
		return "source_map"
	case ProvenanceFile:
		return "provenance"
	case ReplayFile:
		return "replay"
	case VerificationFile:
		return "verification"
	case ReadmeFile:
		return "readme"
	}
	return "other"
}

// MediaType is the type of a file's content.
func MediaType(path string) string {
	switch {
	case strings.HasSuffix(path, ".ndjson"):
		return "application/x-ndjson"
	case strings.HasSuffix(path, ".json"):
		return "application/json"
	case strings.HasSuffix(path, ".md"):
		return "text/markdown"
	}
	return "text/plain"
}
