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
	PageFile         = "index.html" // packs of earlier versions have none
	ManifestFile     = "export-manifest.json"
	AttestationFile  = "attestation.dsse.json"
)

// contextFolder and proofFolder hold the files of several kinds and logs.
const (
	contextFolder = "context/"
	proofFolder   = "proofs/"
)

// ContextFile returns the file for the Agent Context documents of a kind, such as items or
// missing_context.
func ContextFile(kind string) string { return contextFolder + kind + ".json" }

// IsContextFile reports whether path is a [ContextFile].
func IsContextFile(path string) bool {
	return strings.HasPrefix(path, contextFolder) && strings.HasSuffix(path, ".json")
}

// CheckpointFile returns the file with the signed head of log n, counted from 1.
func CheckpointFile(n int) string { return proofFile(n, "checkpoint") }

// LeavesFile returns the file with the leaves of log n in the pack, counted from 1.
func LeavesFile(n int) string { return proofFile(n, "leaves") }

// HashesFile returns the file with the multiproof of log n, counted from 1.
func HashesFile(n int) string { return proofFile(n, "hashes") }

func proofFile(n int, name string) string { return fmt.Sprintf("%s%d/%s", proofFolder, n, name) }

// IsProofFile reports whether path is one of the files of a log.
func IsProofFile(path string) bool {
	rest, ok := strings.CutPrefix(path, proofFolder)
	number, name, both := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	return ok && both && err == nil && n > 0 && proofFile(n, name) == path && (name == "checkpoint" || name == "leaves" || name == "hashes")
}

// Role returns the role of a file in a pack, in the vocabulary of the manifest.
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
	case PageFile:
		return "page"
	}
	return "other"
}

// MediaType returns the media type of a file.
func MediaType(path string) string {
	switch {
	case strings.HasSuffix(path, ".ndjson"):
		return "application/x-ndjson"
	case strings.HasSuffix(path, ".json"):
		return "application/json"
	case strings.HasSuffix(path, ".md"):
		return "text/markdown"
	case strings.HasSuffix(path, ".html"):
		return "text/html"
	}
	return "text/plain"
}
