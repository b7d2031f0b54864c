package demo

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/exampleagent"
	"github.com/ctxledger/ctxledger/schema"
)

// prompts are the user's prompts, one for each turn. The script holds the replies.
var prompts = []struct {
	text    string
	persona exampleagent.Persona
	attach  []producer.Part
}{
	{"Which exit codes does the command line use, and are they documented?", coder, nil},
	{"How is it deployed, and does start-up wait for the projector?", coder, nil},
	{"Review the whole command line for error texts that do not help.", reviewer, screenshot},
	{"Have a helper check the demo itself, and nothing else.", reviewer, nil},
}

// screenshot is attached to a prompt. The screenshot is known by reference, with the token
// count of the provider.
var screenshot = []producer.Part{{
	Kind: schema.PartImage, Name: "an error on a terminal", MimeType: "image/png", Ref: "artifact:demo/error.png", Detail: "low",
	Bytes: new(int64(48_213)), Tokens: new(int64(85)), Estimator: "provider",
}}

// goals are the agent's goals, which every summary keeps.
var goals = []string{"goal:know-the-exit-codes", "goal:review-error-texts"}

// The personas of the agent.
var (
	coder    = exampleagent.Persona{Name: "coder", Text: "You write and explain code."}
	reviewer = exampleagent.Persona{Name: "reviewer", Text: "You look for what a user would stumble over."}
)

// topics are the agent's memories, which the model may ask for.
var topics = map[string]string{
	"deployment": "It is deployed from one binary; the settings are in deploy.env.",
	"style":      "Errors say the place, what was expected and what to do.",
}

// scratchpad is an entry that another agent left for this one.
var scratchpad = []producer.ScratchpadEntry{{ContextID: "team/handover", Text: "The planner says: the user is new to this repository."}}

const (
	envFile = "deploy.env"
	// secret is planted in a file that the agent reads. The secret is not a real credential.
	secret = "ctxl-demo-7f3a9c51e0b84d26"
)

// mostRead is the number of files that the agent reads in one turn. This limit leaves enough
// calls for an answer.
const mostRead = 80

// memory is in the window from the beginning, and is removed first when the window is full.
var memory = []string{"internal/cli/connect.go", "internal/cli/operate/migrate.go", "internal/cli/operate/keys.go"}

// script returns the model's replies to the prompts, for these files.
func script(files fs.FS) (*exampleagent.Script, error) {
	all, err := largestFirst(files)
	if err != nil {
		return nil, err
	}
	all = all[:min(mostRead, len(all))]
	return &exampleagent.Script{Replies: slices.Concat(
		// A file is missing.
		reading("internal/cli/exit.go", "internal/cli/root/root.go", "docs/exit-codes.md"),
		saying("exit.go has them: 0 done, 1 failed, 2 usage, 3 refused, 4 a verification said no, 5 unreachable; root.go prints them in the help."),

		// A file holds a secret, and the model repeats it. The model never saw the secret, so
		// this reply simulates knowledge from elsewhere.
		recalling("deployment"), restoring("internal/cli/exit.go"), reading("internal/cli/serve/up.go", envFile),
		saying("up.go waits until the projector is ready; "+envFile+" sets API_TOKEN to "+secret+" in eu-west-1."),

		// A tool reads items of the window. The window fills.
		listing("."), reading(all[:2]...), linting(), reading(all[2:]...),
		saying(fmt.Sprintf("I read %d files. The texts name the flag, what was found and what to do; publish.go even names line, code and field.", len(all))),

		// A child run gets fewer grants, and is denied more.
		delegating("Check internal/demo.", root+"/internal/demo"),
		reading("internal/demo/script.go", "internal/cli/flags.go"), saying("script.go reads well; I may not open flags.go."),
		delegating("Check everything that there is.", "app"),
		saying("The helper found nothing to change in the demo."),
	)}, nil
}

func calling(tools ...exampleagent.ToolCall) (replies []exampleagent.Reply) {
	for _, tool := range tools {
		replies = append(replies, exampleagent.Reply{Tools: []exampleagent.ToolCall{tool}})
	}
	return replies
}

func reading(paths ...string) (replies []exampleagent.Reply) {
	for _, path := range paths {
		replies = append(replies, calling(exampleagent.ToolCall{Tool: "repo_read", Path: path})...)
	}
	return replies
}

func listing(path string) []exampleagent.Reply {
	return calling(exampleagent.ToolCall{Tool: "repo_list", Path: path})
}

func linting() []exampleagent.Reply { return calling(exampleagent.ToolCall{Tool: "lint"}) }

func restoring(path string) []exampleagent.Reply {
	return calling(exampleagent.ToolCall{Tool: "restore", Path: path})
}

func recalling(topic string) []exampleagent.Reply {
	return calling(exampleagent.ToolCall{Tool: "recall", Path: topic})
}

func delegating(task, grant string) []exampleagent.Reply {
	return calling(exampleagent.ToolCall{Tool: "delegate", Task: task, Grants: []string{grant}})
}

func saying(text string) []exampleagent.Reply { return []exampleagent.Reply{{Text: text}} }

// largestFirst lists the Go files without tests, the largest first.
func largestFirst(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "*.go")
	more, moreErr := fs.Glob(files, "internal/*/*.go")
	groups, groupsErr := fs.Glob(files, "internal/*/*/*.go")
	if err := errors.Join(err, moreErr, groupsErr); err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(slices.Concat(names, more, groups), func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	sizes := make(map[string]int64, len(names))
	for _, name := range names {
		info, err := fs.Stat(files, name)
		if err != nil {
			return nil, err
		}
		sizes[name] = info.Size()
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(sizes[y], sizes[x]), cmp.Compare(x, y)) })
	return names, nil
}

// withPlanted adds a file with a secret to the sources.
func withPlanted(sources fs.FS) fs.FS {
	return overlay{sources, fstest.MapFS{envFile: {Data: []byte("REGION=eu-west-1\nAPI_TOKEN=" + secret + "\nLOG_LEVEL=info\n")}}}
}

// overlay is a file system in front of another.
type overlay struct{ under, over fs.FS }

func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.over.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.under.Open(name)
	}
	return f, err
}

// ReadDir lists only the sources, so that a listing does not show the planted file.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.under, name) }
