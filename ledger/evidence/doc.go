// Package evidence exports packs. An export reads the events of a turn, a run, a task or a session
// from ClickHouse in log order. The export proves these events against the newest signed head of
// their log. The pack contains the events, the proofs and the documents of package document.
//
// The export streams. Memory holds 8 bytes per record for the proof, and the state of the
// documents, see [document]. A pack appears complete under its name, or not at all.
//
// A pack also contains the erased records of its scope, with their place and leaf. A pack contains
// the erasure facts that name these records, from any log. Erasure facts also name records of other
// scopes by id. While a log is written, the facts of the pack are in memory, 64 KiB each.
//
// A pack contains no value that a redaction withholds. The export searches every written record and
// every written byte for the tenant's fingerprints, as far as their keys are available. A match
// ends the export. The error names the place and the policy, never the value.
package evidence
