package exampleagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

const secret = "hunter2-correct-horse"

var files = fstest.MapFS{
	"README":     {Data: []byte("The service says hello.\n")},
	"deploy.env": {Data: []byte("TOKEN=" + secret + "\n")},
	"src/a.go":   {Data: []byte(strings.Repeat("package a // what a does is told here\n", 30))},
	"src/b.go":   {Data: []byte(strings.Repeat("package b // what b does is told here\n", 30))},
	"src/c.go":   {Data: []byte(strings.Repeat("package c // what c does is told here\n", 30))},
	"notes":      {Data: []byte(strings.Repeat("Remember this. ", 40))},
}

// overhearing is a model that records its requests.
type overhearing struct {
	Model
	requests [][]Message // without the requests for a summary
	summary  string      // the answer to requests for a summary; empty is the model's own
}

func (o *overhearing) Answer(ctx context.Context, messages []Message) (Reply, error) {
	switch {
	case messages[len(messages)-1].Text != summaryPrompt:
		o.requests = append(o.requests, slices.Clone(messages))
	case o.summary != "":
		return Reply{Text: o.summary}, nil
	}
	return o.Model.Answer(ctx, messages)
}

// session is an agent with a window of 900 tokens and the state that the test checks.
type session struct {
	*Agent
	model *overhearing
	rec   *producertest.Recorder
}

func start(t *testing.T, maxTokens int, replies ...Reply) session {
	t.Helper()
	guard, err := redact.New(redact.Withhold(secret, "policy:test", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	counter := window.NewCounter(window.CounterConfig{})
	client, rec := producertest.New(t, func(c *producer.Config) { c.Guard, c.Counter = guard, counter })
	run, err := client.Open(t.Context(), producer.Run{
		ID: "run", Session: "s", Agent: "coder", MaxDepth: 1, Grants: grant.Set{"app/repo"}, Resources: []producer.Resource{Repository, Memory},
	})
	if err != nil {
		t.Fatal(err)
	}
	model := &overhearing{Model: &Script{Replies: replies}}
	agent, err := New(t.Context(), Config{
		Run: run, Model: model, Spec: producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: maxTokens, ReservedOutput: 100}},
		Policy: window.Policy{TrimKeepLast: 20, SummarizeKeepLast: 3, CompactKeepLast: 1}, Counter: counter, Guard: guard,
		Files: files, Root: "app/repo", System: "You are a coding agent.", Memory: []string{"notes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return session{agent, model, rec}
}

func (s session) ask(t *testing.T, prompt string) string {
	t.Helper()
	answer, err := s.Ask(t.Context(), prompt)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func read(paths ...string) (replies []Reply) {
	for _, path := range paths {
		replies = append(replies, Reply{Tools: []ToolCall{{Tool: "repo_read", Path: path}}})
	}
	return replies
}

func says(text string) Reply { return Reply{Text: text} }

// TestRecordsWhatTheModelSaw compares each recorded window with the request that the model
// received, through pressure, elision and compaction.
func TestRecordsWhatTheModelSaw(t *testing.T) {
	t.Parallel()
	replies := slices.Concat(
		read("README", "src/a.go"), []Reply{says("It says hello.")},
		read("src/b.go", "src/c.go", "src/a.go", "src/b.go"), []Reply{says("They are alike.")},
		read("src/c.go"), []Reply{says("Nothing.")},
	)
	s := start(t, 900, replies...)
	s.model.summary = "They talked of " + secret + ", " + secret + " and sources."
	for _, prompt := range []string{"What does it do?", "Compare the sources.", "What else?"} {
		s.ask(t, prompt)
	}
	events := s.rec.Events()
	summaries := len(events.Of(schema.TypeSummaryCreated))
	usages := slices.DeleteFunc(producertest.Facts[*schema.UsageRecorded](events), func(f *schema.UsageRecorded) bool {
		written := strings.HasSuffix(f.CallID, "/summary")
		if written {
			summaries--
		}
		return written
	})
	if summaries > 0 {
		t.Errorf("the calls of %d summaries are not recorded", summaries)
	}
	if len(usages) != len(s.model.requests) || len(usages) != 10 {
		t.Fatalf("%d usages for %d requests", len(usages), len(s.model.requests))
	}
	for i, request := range s.model.requests {
		tokens := int64(0)
		for _, m := range request {
			tokens += int64(s.tokens(m.Text))
		}
		if got := *usages[i].TotalTokens; got != tokens || tokens > 800 {
			t.Errorf("%s: %d tokens are recorded, %d were sent in %d messages", usages[i].CallID, got, tokens, len(request))
		}
	}
	for _, request := range s.model.requests {
		reminders := 0
		for i, m := range request {
			if strings.HasPrefix(m.Text, "Reminder: ") {
				reminders++
				if request[i-1].Role != window.RoleUser {
					t.Errorf("the reminder stands behind %+v", request[i-1])
				}
			}
		}
		if reminders != 1 {
			t.Errorf("%d reminders in %+v", reminders, request)
		}
	}
	for _, kind := range []schema.Type{
		schema.TypeInjectionRemoved, schema.TypeCompactionStarted, schema.TypePressureApplied, schema.TypeElisionApplied, schema.TypeCompactionCompleted, schema.TypeSummaryCreated,
	} {
		if len(events.Of(kind)) == 0 {
			t.Errorf("no %s in\n%s", kind, events)
		}
	}
	if n := len(events.Of(schema.TypeEnvelopeCreated)); n != 3 {
		t.Errorf("%d turns are sealed, not 3", n)
	}
}

// TestCompactsToolOutputs leaves no messages to summarize, so outputs are shortened.
func TestCompactsToolOutputs(t *testing.T) {
	t.Parallel()
	s := start(t, 900, append(read("src/a.go", "src/b.go", "src/c.go"), says("done"))...)
	s.Policy = window.Policy{Steps: []window.Step{window.CompactToolOutputs}, CompactKeepLast: 1}
	s.ask(t, "Read all.")
	last := s.model.requests[len(s.model.requests)-1]
	left := slices.IndexFunc(last, func(m Message) bool { return strings.HasPrefix(m.Text, "[left out; read src/a.go") })
	if left < 0 || !strings.HasPrefix(last[len(last)-1].Text, "package c") {
		t.Errorf("the model got %q", last)
	}
}

func TestWithholdsSecretsFromModelAndLedger(t *testing.T) {
	t.Parallel()
	s := start(t, 900, append(read("deploy.env"), says("The token is "+secret+"."))...)
	s.ask(t, "How is it deployed? I think with "+secret)
	if sent := fmt.Sprint(s.model.requests); strings.Contains(sent, secret) || !strings.Contains(sent, "TOKEN=[redacted:policy:test]") {
		t.Errorf("the model got %s", sent)
	}
	if lines := string(s.rec.Events().JSON()); strings.Contains(lines, secret) {
		t.Errorf("the ledger got %s", lines)
	}
	if n := len(s.rec.Events().Of(schema.TypeRedactionApplied)); n < 3 { // question, file, answer
		t.Errorf("%d redactions", n)
	}
}

func TestRecordsWhatIsMissing(t *testing.T) {
	t.Parallel()
	replies := slices.Concat(read("docs/manual", "docs/manual"), []Reply{says("I do not know.")}, read("docs/manual", "docs/manual"), []Reply{says("Hello.")})
	s := start(t, 900, replies...)
	s.ask(t, "What does the manual say?")
	gap := producertest.One[*schema.MissingRequested](t, s.rec.Events().Turn("turn-1"))
	if gap.RequestedFrom != "user" || gap.RequestedAction == "" || gap.UserSummary == "" {
		t.Errorf("%+v", gap)
	}
	if got := s.texts["tool-1:result"]; got != "error: docs/manual is missing" {
		t.Errorf("the model was told %q", got)
	}
	written := maps.Clone(files)
	written["docs/manual"] = &fstest.MapFile{Data: []byte("Say hello.")}
	s.Files = written
	s.ask(t, "I wrote it.")
	end := producertest.One[*schema.MissingResolved](t, s.rec.Events())
	if end.MissingID != gap.MissingID || end.Status != schema.StatusResolved || end.ResolutionRefs[0] != "tool-3:result" {
		t.Errorf("%+v", end)
	}
}

func TestHelperGetsLess(t *testing.T) {
	t.Parallel()
	delegate := func(grants ...string) Reply {
		return Reply{Tools: []ToolCall{{Tool: "delegate", Task: "Review.", Grants: grants}}}
	}
	replies := slices.Concat(
		[]Reply{delegate("app/repo/src")}, read("src/a.go", "README"), []Reply{says("It reads well.")},
		[]Reply{delegate("app")}, []Reply{says("All is well.")},
	)
	s := start(t, 900, replies...)
	if got := s.ask(t, "Let it be reviewed."); got != "All is well." {
		t.Errorf("answered %q", got)
	}
	events := s.rec.Events()
	helper := events.Run("helper-1")
	narrowed := producertest.One[*schema.GrantNarrowed](t, helper)
	if !slices.Equal(narrowed.Effective, []string{"app/repo/src"}) {
		t.Errorf("the helper got %v", narrowed.Effective)
	}
	var allowed []bool
	for _, access := range producertest.Facts[*schema.ResourceAccessed](helper) {
		allowed = append(allowed, access.Allowed)
	}
	if !slices.Equal(allowed, []bool{true, false}) {
		t.Errorf("the helper's accesses: %v", allowed)
	}
	producertest.One[*schema.EnvelopeCreated](t, helper)
	producertest.One[*schema.GrantDenied](t, events.Turn("").Run("run"))
	if got := s.texts["tool-1:result"]; got != "It reads well." {
		t.Errorf("the agent was told %q", got)
	}
	if got := s.texts["tool-2:result"]; !strings.HasPrefix(got, "error: ") {
		t.Errorf("the agent was told %q", got)
	}
}

// TestSealsWhatFailed ends turns by errors: each turn is sealed.
func TestSealsWhatFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		maxTokens int
		replies   []Reply
		want      error
	}{
		"the model fails":      {900, nil, ErrScriptOver},
		"it does not fit":      {250, append(read("src/a.go"), says("")), window.ErrContextLimit},
		"a tool is unheard of": {900, []Reply{{Tools: []ToolCall{{Tool: "shell"}}}, says("Then not.")}, nil},
	} {
		s := start(t, c.maxTokens, c.replies...)
		if _, err := s.Ask(t.Context(), "Go."); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		producertest.One[*schema.EnvelopeCreated](t, s.rec.Events().Turn("turn-1"))
	}
}

func TestAnswersWhileTheStreamIsAway(t *testing.T) {
	t.Parallel()
	s := start(t, 900, append(read("nowhere"), says("Hello."))...)
	away := errors.New("away")
	s.rec.Fail(away)
	if answer, err := s.Ask(t.Context(), "Hi."); answer != "Hello." || !errors.Is(err, away) {
		t.Errorf("answered %q, %v", answer, err)
	}
}

func TestNeverAsksForEver(t *testing.T) {
	t.Parallel()
	s := start(t, 100_000, slices.Repeat(read("README"), maxCalls+1)...)
	if _, err := s.Ask(t.Context(), "Go on."); err == nil || len(s.model.requests) != maxCalls {
		t.Errorf("%d calls, %v", len(s.model.requests), err)
	}
}

// TestSaysWhereItIs: each model call is in a step, and context for a tool names the tool
// call. The run of a helper also names the tool call. A request for more context is an
// action.
func TestSaysWhereItIs(t *testing.T) {
	t.Parallel()
	s := start(t, 900, slices.Concat(read("README"), []Reply{
		{Tools: []ToolCall{{Tool: "delegate", Task: "read", Grants: []string{"app/repo/src"}}}}, says("done"),
		{Tools: []ToolCall{{Tool: "repo_read", Path: "absent"}}}, says("There is none."),
	})...)
	s.ask(t, "What does it do?")
	places := make(map[schema.Type]map[string]bool)
	for _, e := range s.rec.Events() {
		kind, err := schema.ParseCloudEventsType(e.Type)
		if err != nil {
			t.Fatal(err)
		}
		c := e.Correlation
		if places[kind] == nil {
			places[kind] = make(map[string]bool)
		}
		places[kind][strings.Join([]string{c.RunID, c.StepID, c.ToolCallID, c.ActionID}, " ")] = true
	}
	for kind, want := range map[schema.Type][]string{
		schema.TypeUsageRecorded:    {"run step-1  ", "run step-2  ", "run step-3  ", "run step-4  ", "helper-1 helper-1/step-1  "},
		schema.TypeResourceAccessed: {"run step-1 tool-1 ", "run step-3 tool-3 "},
		schema.TypeMissingDetected:  {"run step-3 tool-3 ask-1"},
		schema.TypeScopeOpened:      {"run   ", "helper-1 step-2 tool-2 "},
	} {
		if got := slices.Sorted(maps.Keys(places[kind])); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s:\n got %q\nwant %q", kind, got, want)
		}
	}
}

// TestScratchpadPersonaAndMemory: the windows hold the notes of other agents, the persona
// and the accepted offers. The facts link them.
func TestScratchpadPersonaAndMemory(t *testing.T) {
	t.Parallel()
	s := start(t, 2_000, slices.Concat(
		[]Reply{{Tools: []ToolCall{{Tool: "recall", Path: "deploys"}}}, {Tools: []ToolCall{{Tool: "recall", Path: "fees"}}}, says("On Fridays.")}, []Reply{says("It is fine.")},
	)...)
	s.Scratchpad = []producer.ScratchpadEntry{{ContextID: "team", Text: "The user is new."}, {ContextID: "team", Text: "Be brief."}}
	s.Topics = map[string]string{"deploys": "It is deployed on Fridays."}
	s.Persona = Persona{"coder", "You write code."}
	s.ask(t, "When is it deployed?")
	s.Persona = Persona{"reviewer", "You find faults."}
	s.ask(t, "Review it.")

	all := fmt.Sprint(s.model.requests[len(s.model.requests)-1])
	for _, text := range []string{"The user is new.", "Be brief.", "It is deployed on Fridays.", "You find faults.", "From now on you are the reviewer.", "You may recall: deploys."} {
		if !strings.Contains(all, text) {
			t.Errorf("the model was not told %q: %s", text, all)
		}
	}
	events := s.rec.Events()
	loaded, written := producertest.One[*schema.ScratchpadLoaded](t, events), producertest.Facts[*schema.ScratchpadWritten](events)
	if len(loaded.ItemRefs) != 2 || len(written) != 2 || !slices.Equal(written[0].ContextIDs, []string{"team"}) {
		t.Errorf("%+v, %+v", loaded, written)
	}
	personas := make(map[string]string)
	for _, f := range producertest.Facts[*schema.InjectionApplied](events) {
		if f.InjectionKind == window.PersonaKind {
			personas[f.PersonaFrom] = f.PersonaTo
		}
	}
	if !maps.Equal(personas, map[string]string{"": "coder", "coder": "reviewer"}) {
		t.Errorf("personas %v", personas)
	}
	items := make(map[string]*schema.ItemAdded)
	for _, f := range producertest.Facts[*schema.ItemAdded](events) {
		items[f.ItemID] = f
	}
	if offer := items["offer-1"]; !slices.Equal(offer.Offers, schema.Refs("topic:deploys")) || offer.BindingID != "resource:run:memory" {
		t.Errorf("%+v", offer)
	}
	if got := items["tool-1:result"]; got.OfferedBy != "offer-1" || got.ContextKind != "memory" {
		t.Errorf("%+v", got)
	}
	if s.texts["tool-2:result"] != "error: nothing is remembered of fees" {
		t.Errorf("the model was told %q", s.texts["tool-2:result"])
	}
}

// TestToolConsumesContext: the files for a tool have their own assembly with the tool
// call's id, and the model's assembly has another.
func TestToolConsumesContext(t *testing.T) {
	t.Parallel()
	s := start(t, 2_000, slices.Concat(calls("lint"), read("src/a.go", "README"), calls("lint"), []Reply{says("It is clean.")})...)
	s.ask(t, "Check it.")
	if s.texts["tool-1:result"] != "error: no file was read" || s.texts["tool-4:result"] != "2 files with 31 lines: nothing found" {
		t.Errorf("the model was told %q and %q", s.texts["tool-1:result"], s.texts["tool-4:result"])
	}
	given := make(map[string][]schema.Ref)
	for _, e := range s.rec.Events().Of(schema.TypeAssemblyCreated) {
		f := producertest.One[*schema.AssemblyCreated](t, producertest.Events{e})
		if f.Target == string(schema.VisibleTool) {
			given[e.ToolCallID] = f.SourceItemRefs
		}
	}
	if len(given) != 1 || !slices.Equal(given["tool-4"], schema.Refs("tool-2:result", "tool-3:result")) {
		t.Errorf("%+v", given)
	}
}

func calls(tool string) []Reply { return []Reply{{Tools: []ToolCall{{Tool: tool}}}} }

// TestRestoresGoalsAndImages: an elided file comes back whole for the model, an image is
// only a reference, and summaries keep the goals.
func TestRestoresGoalsAndImages(t *testing.T) {
	t.Parallel()
	s := start(t, 1_600, slices.Concat(
		read("src/a.go"), []Reply{says("One.")},
		[]Reply{{Tools: []ToolCall{{Tool: "restore", Path: "src/a.go"}}}, {Tools: []ToolCall{{Tool: "restore", Path: "src/c.go"}}}, says("Two.")},
		read("src/b.go", "src/c.go", "src/a.go", "src/b.go"), []Reply{says("Three.")},
	)...)
	s.Goals = []string{"goal:one", "goal:two"}
	s.ask(t, "Read it.")
	s.Attach = []producer.Part{{Kind: schema.PartImage, Name: "screen.png", MimeType: "image/png", Ref: "artifact:screen.png", Bytes: new(int64(2_048)), Tokens: new(int64(85)), Estimator: "provider"}}
	s.ask(t, "Read it again, and look at this.")
	if s.texts["tool-2:result"] != "src/a.go is in the window again" || s.texts["tool-3:result"] != "error: src/c.go was not left out" {
		t.Errorf("the model was told %q and %q", s.texts["tool-2:result"], s.texts["tool-3:result"])
	}
	if last := fmt.Sprint(s.model.requests[len(s.model.requests)-1]); !strings.Contains(last, "package a // what a does") {
		t.Errorf("the model does not see the file: %s", last)
	}
	s.ask(t, "And all others.")
	events := s.rec.Events()
	reloaded := producertest.Facts[*schema.ElisionReloaded](events)
	if len(reloaded) == 0 || reloaded[0].Trigger != "model_request" || reloaded[0].ElidedItemRefs[0].ItemRef != "tool-1:result" {
		t.Errorf("%+v", reloaded)
	}
	var image *schema.ItemAdded
	for _, f := range producertest.Facts[*schema.ItemAdded](events) {
		if f.ItemID == "user-2" {
			image = f
		}
	}
	if len(image.Parts) == 0 || image.Parts[len(image.Parts)-1].Ref != "artifact:screen.png" {
		t.Errorf("%+v", image)
	}
	completed := producertest.Facts[*schema.CompactionCompleted](events)
	summaries := producertest.Facts[*schema.SummaryCreated](events)
	if len(completed) == 0 || len(summaries) == 0 || !slices.Equal(completed[0].GoalRefs, schema.Refs(s.Goals...)) || !slices.Equal(summaries[0].GoalRefs, schema.Refs(s.Goals...)) {
		t.Errorf("%d compactions, %+v", len(completed), summaries)
	}
}
