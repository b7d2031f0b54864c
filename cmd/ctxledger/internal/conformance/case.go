package conformance

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed events/*.txt
var eventFiles embed.FS

//go:embed sql/*.sql
var sqlFiles embed.FS

// A Case is one named test: the published events and the checks of the rows.
type Case struct {
	Name   string // ACTX-AR-ID-001
	Title  string
	Source string  // the requirement of seed 001, in our words
	Events []Event // in the order of the stream
	Checks []Check // the checks of every case come first
}

// unknownCase is the error for an unknown name.
func unknownCase(name string) error {
	var names []string
	for _, c := range catalogue {
		names = append(names, c.Name)
	}
	return fmt.Errorf("unknown case %q; use one of %s", name, strings.Join(names, ", "))
}

// Cases returns all cases, in the order of seed 001.
func Cases() []Case {
	list := slices.Clone(catalogue)
	for i := range list {
		c := &list[i]
		c.Events = parseEvents(readFile(eventFiles, "events/"+c.Name+".txt"))
		c.Checks = append(commonChecks(), parseChecks(readFile(sqlFiles, "sql/"+c.Name+".sql"))...)
	}
	return list
}

// Select returns the named cases in the order of [Cases], or all cases without names. The error
// contains the unknown name.
func Select(names ...string) ([]Case, error) {
	all := Cases()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c Case) bool { return c.Name == name }) {
			return nil, unknownCase(name)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(c Case) bool { return !slices.Contains(names, c.Name) }), nil
}

func commonChecks() []Check { return parseChecks(readFile(sqlFiles, "sql/common.sql")) }

// readFile returns an embedded file. A missing file is an error of the program.
func readFile(files embed.FS, name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

var catalogue = []Case{
	{
		Name: "ACTX-AR-ID-001", Title: "The snapshot of a turn's context keeps its ids",
		Source: "The envelope of a submitted turn has the turn's session, thread and turn id, and the runtime can refer to it by its context id.",
	},
	{
		Name: "ACTX-AR-ID-002", Title: "The context of a task keeps the ids of its attempt",
		Source: "A retry records a separate selection under its run and attempt. The selection of the earlier attempt stays unchanged.",
	},
	{
		Name: "ACTX-AR-SEL-001", Title: "Selected and omitted candidates are both recorded",
		Source: "If candidates exceed the budget, the selection lists the selected and the omitted candidates, with a reason for each omission.",
	},
	{
		Name: "ACTX-AR-BUDGET-001", Title: "A decision about the window can be traced",
		Source: "The budget's record explains each cut by limits and measured use. Nobody has to guess the reason from a prompt.",
	},
	{
		Name: "ACTX-AR-ASM-001", Title: "An injection can be audited",
		Source: "Content that a model saw leads to the assembly, its items and their sources. A selection does not count as an injection.",
	},
	{
		Name: "ACTX-AR-MISSING-001", Title: "Missing context can be requested",
		Source: "A gap names its owner, the requested action, and a summary that is safe for the user.",
	},
	{
		Name: "ACTX-AR-COMPACT-001", Title: "A compaction keeps its boundary",
		Source: "A summary names the window that it replaces. Old reasoning does not return as content or as an answer.",
	},
	{
		Name: "ACTX-AR-POLICY-001", Title: "A redaction is a fact with its policy",
		Source: "A redacted item keeps state, reason and policy refs, and the raw secret is not injected.",
	},
	{
		Name: "ACTX-AR-EVID-001", Title: "Evidence can cite context",
		Source: "Evidence leads to context and source refs. Payloads are not copied into these tables.",
	},
	{
		Name: "ACTX-AR-GOV-001", Title: "Context does not own runtime status",
		Source: "No record declares a completed or failed turn, an approval or the success of a tool. Words that only resemble a status stay allowed.",
	},
	{
		Name: "ACTX-AR-FAIL-STATUS", Title: "Refused: a record that declares completion or success",
		Source: "A context record that declares a task completed or a tool successful breaks the boundary.",
	},
	{
		Name: "ACTX-AR-FAIL-PERMISSION", Title: "Refused: a gap that turns into a permission",
		Source: "A missing-context record that becomes an approval without policy or runtime breaks the boundary.",
	},
	{
		Name: "ACTX-AR-FAIL-ANSWER", Title: "Refused: a summary that is an answer",
		Source: "Output of a compaction that is treated as final answer text breaks the boundary.",
	},
	{
		Name: "ACTX-AR-FAIL-IDS", Title: "Refused: lost runtime ids",
		Source: "Without runtime ids, evidence cannot join context to its turn or task.",
	},
	{
		Name: "ACTX-AR-FAIL-REDACTED", Title: "Refused: redacted content that comes back",
		Source: "Redacted context that returns through summaries, diagnostics or a UI breaks the boundary.",
	},
}
