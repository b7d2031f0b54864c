package document

import (
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// readmeText returns README.md, the page for people.
func readmeText(b *Builder) []byte {
	var out strings.Builder
	s := b.header.Scope
	fmt.Fprintf(&out, "# Evidence pack %s\n\n", b.header.ID)
	fmt.Fprintf(&out, "What was in the context window of an agent: the facts recorded in %s `%s`", s.Kind, line(scopeID(s), 200))
	if s.Kind != pack.ScopeSession {
		fmt.Fprintf(&out, " of session `%s`", line(s.Session, 200))
	}
	fmt.Fprintf(&out, ",\nin the order in which the stream stored them. Made at %s by %s.\n\n", formatTime(b.header.Created), line(b.header.Exporter, 100))
	fmt.Fprintf(&out, "- %s", plural(b.tally.records, "record"))
	if !b.windows.first.IsZero() {
		fmt.Fprintf(&out, ", from %s to %s", formatTime(b.windows.first), formatTime(b.windows.last))
	}
	out.WriteByte('\n')
	for _, part := range []struct {
		n    uint64
		what string
	}{
		{b.tally.erased, "whose content was erased on request; place and leaf stay"},
		{b.tally.withheld, "whose content this pack withholds; place and leaf stay"},
		{b.tally.unread, "that say nothing to this version"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&out, "- %s %s\n", plural(part.n, "record"), part.what)
		}
	}
	fmt.Fprintf(&out, "- %s, %s of a candidate with its reason\n", plural(b.tally.redactions, "redaction"), plural(b.tally.omissions, "omission"))
	if n := uint64(len(b.gaps.open)) + b.gaps.more; n > 0 {
		fmt.Fprintf(&out, "- %s still open\n", plural(n, "gap"))
	}
	out.WriteString(tellingsText(b))
	if b.tally.seals == 0 {
		out.WriteString("- no seal: nothing in it says which facts the scope should have\n")
	}
	if b.header.RedactIDs {
		out.WriteString("- ids are pseudonyms made for this pack alone\n")
	}
	out.WriteString(readmeFiles)
	out.WriteString("## The window of each turn\n\n")
	if b.windows.count() == 0 {
		out.WriteString("No window is recorded in this scope.\n")
		return []byte(out.String())
	}
	out.WriteString("The last window of each turn, as the model got it. Content is not in here: titles and\nsizes are.\n\n")
	for _, w := range b.windows.turns {
		w.draw(&out)
	}
	if more := uint64(len(b.windows.further)); more > 0 {
		fmt.Fprintf(&out, "%s not drawn; their assemblies are in context/assemblies.json.\n", plural(more, "further turn"))
	}
	return []byte(out.String())
}

const readmeFiles = `
## How to check it

With the log's public key, which you should have from somewhere else than this folder:

    ctxledger evidence verify . --key log.pub

It needs no network and no server. It says, one by one, whether the signature holds,
whether every record is in the signed log, whether records are missing, whether all
documents follow from the records, and whether anything that was redacted shows.

## What is in it

| file | content |
|---|---|
| ` + "`header.json`" + ` | what was asked for, when, and what made it |
| ` + "`events.ndjson`" + ` | the records, byte for byte, in log order |
| ` + "`proofs/`" + ` | the signed head of the log, and the proof that the records are in it |
| ` + "`context/`" + ` | what the records state, as documents of Agent Context 0.1.0 |
| ` + "`pack.json`, `source-map.json`, `provenance.json`, `replay.json`, `verification.json`" + ` | documents of Agent Evidence 0.1.0 |
| ` + "`export-manifest.json`" + ` | every file with size and hash |
| ` + "`attestation.dsse.json`" + ` | the signed statement over the manifest |

`
