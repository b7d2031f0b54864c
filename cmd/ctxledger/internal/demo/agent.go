package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// agent is a coding agent without a model: it reads real files with a small
// window, and its answers are written down beforehand. Everything that happens
// to its window is real.
type agent struct {
	run     *producer.RunContext
	model   producer.Model
	counter *window.Counter
	files   fs.FS
	say     func(format string, args ...any)

	items  []window.Item // candidates of the next window, in order
	titles map[string]string
	head   window.Head
	turn   *producer.Turn
	number struct{ turn, call, item int }
	id     struct{ turn, call string }

	fullest struct {
		turn, call string
		tokens     int
	}
}

// policy is how the agent's window is kept: it holds on to the newest parts.
var policy = window.Policy{TrimKeepLast: 38, SummarizeKeepLast: 6, CompactKeepLast: 1, CompactStubTokens: 12}

// add brings content into the context.
func (a *agent) add(ctx context.Context, c producer.Content) error {
	a.number.item++
	if c.ID == "" {
		c.ID = fmt.Sprintf("item-%03d", a.number.item)
	}
	add := a.run.Add
	if a.turn != nil {
		add = func(ctx context.Context, _ string, c producer.Content) (window.Item, error) {
			return a.turn.Add(ctx, c)
		}
	}
	item, err := add(ctx, a.model.Name, c)
	if err != nil {
		return err
	}
	a.titles[item.ID] = c.Title
	a.items = append(a.items, item)
	return nil
}

// begin starts a user turn: earlier tool outputs are elided, what was injected
// at the head goes, the user speaks, and a reminder is injected at the new
// head.
func (a *agent) begin(ctx context.Context, prompt string) error {
	a.number.turn++
	a.id.turn = fmt.Sprintf("turn-%d", a.number.turn)
	a.turn = a.run.Turn(a.id.turn, a.model)
	a.say("turn %d  user: %s", a.number.turn, prompt)
	user := fmt.Sprintf("user-%d", a.number.turn)
	err := a.add(ctx, producer.Content{
		ID: user, Title: "user: " + prompt, ContextKind: "user_message", Layer: "user", Role: window.RoleUser, Kind: window.KindMessage, Text: prompt,
	})
	if err != nil {
		return err
	}
	if err := a.elide(ctx); err != nil {
		return err
	}
	return a.remind(ctx, user)
}

// elide replaces tool outputs of earlier turns by stubs that say where to read
// them again.
func (a *agent) elide(ctx context.Context) error {
	pass, err := window.PlanElision(window.History{Items: a.items, Turn: a.number.turn}, window.BeforeLastUser(), window.Style{
		Level: window.Offloaded, StubTokens: 14, ReloadRef: func(i window.Item) string { return "file:" + i.Reads },
	})
	if err != nil || len(pass.Elided) == 0 {
		return err
	}
	a.items = pass.Window
	a.say("        elided %d tool outputs: %d tokens saved on each call, %d computed again once", len(pass.Elided), pass.SavedPerCall, pass.Penalty)
	return a.nextCall().Elide(ctx, pass)
}

// remind injects a reminder at the head and records what it replaced.
func (a *agent) remind(ctx context.Context, user string) error {
	ref := fmt.Sprintf("reminder-%d", a.number.turn)
	text := fmt.Sprintf("Reminder: turn %d; nothing is committed yet; answer with file names.", a.number.turn)
	head, change, err := a.head.UserMessage(user).Inject(window.Injection{
		Kind: "reminder", Ref: ref, Tokens: a.counter.Count(a.model.Name, text).Tokens,
	})
	if err != nil {
		return err
	}
	a.head = head
	for _, r := range change.Removed {
		a.items = without(a.items, r.Injection.Ref)
		removed := &schema.InjectionRemoved{Injection: injectionOf(r.Injection), ReplacedBy: schema.Ref(r.ReplacedBy), RemovedByPass: r.Pass}
		if err := a.turn.Record(ctx, removed); err != nil {
			return err
		}
	}
	err = a.add(ctx, producer.Content{
		ID: ref, Title: "reminder at the head", ContextKind: "system_reminder", Layer: "injected", Role: window.RoleSystem, Kind: window.KindFixed, Text: text,
	})
	if err != nil {
		return err
	}
	for _, in := range change.Injected {
		if err := a.turn.Record(ctx, &schema.InjectionApplied{Injection: injectionOf(in)}); err != nil {
			return err
		}
	}
	return nil
}

func injectionOf(in window.Injection) schema.Injection {
	return schema.Injection{
		InjectionID: "inject:" + in.Ref, Target: "model", InjectionPoint: schema.InjectUserMessageAppendix, InjectionKind: in.Kind,
		ItemRefs: schema.Refs(in.Ref), AttachedTo: schema.Ref(in.AttachedTo), Ephemeral: true, Tokens: new(int64(in.Tokens)),
	}
}

func without(items []window.Item, id string) []window.Item {
	var rest []window.Item
	for _, i := range items {
		if i.ID != id {
			rest = append(rest, i)
		}
	}
	return rest
}

func (a *agent) nextCall() *producer.Call {
	a.id.call = fmt.Sprintf("call-%02d", a.number.call+1)
	return a.turn.Call(a.id.call)
}

// call plans the window of one model call, records it and takes over what the
// pressure ladder changed.
func (a *agent) call(ctx context.Context) error {
	call := a.nextCall()
	a.number.call++
	var summary string
	plan, err := call.Fit(ctx, a.items, policy, func(r window.Request) ([]window.Replacement, error) {
		summary = a.summarize(r.Source)
		return []window.Replacement{{ID: "summary-" + a.id.call, After: a.counter.Count(a.model.Name, summary).Tokens}}, nil
	})
	if err != nil {
		return err
	}
	a.items = plan.Window
	if plan.TokensAfter > a.fullest.tokens {
		a.fullest.turn, a.fullest.call, a.fullest.tokens = a.id.turn, a.id.call, plan.TokensAfter
	}
	for _, rung := range plan.Steps {
		if rung.Step == window.SummarizeMessages && len(rung.Replaced) > 0 {
			if err := a.compacted(ctx, call, rung.Replaced[0], summary); err != nil {
				return err
			}
		}
	}
	if plan.Pressed {
		a.say("        %s: %d tokens do not fit into %d: %s", a.id.call, plan.TokensBefore, plan.Limit, climbed(plan))
	}
	assembly, err := call.Assemble(ctx, plan)
	if err != nil {
		return err
	}
	if err := call.Inject(ctx, assembly, schema.InjectMessageHistory); err != nil {
		return err
	}
	return call.Usage(ctx, plan, schema.ProviderUsage{}) // no provider, so nothing is billed, and nothing is known
}

// climbed says what each rung did, for people.
func climbed(plan window.Plan) string {
	var did []string
	for _, rung := range plan.Steps {
		switch {
		case len(rung.Dropped) > 0 && len(rung.Replaced) == 0:
			did = append(did, fmt.Sprintf("%s took out %d (%d left)", rung.Step, len(rung.Dropped), rung.TokensAfter))
		case len(rung.Replaced) > 0:
			n := 0
			for _, r := range rung.Replaced {
				n += len(r.Of)
			}
			did = append(did, fmt.Sprintf("%s shortened %d (%d left)", rung.Step, n, rung.TokensAfter))
		}
	}
	return strings.Join(did, ", ")
}

// summarize stands in for the model: it lists what the summarised items were.
func (a *agent) summarize(source []string) string {
	var b strings.Builder
	b.WriteString("Earlier in this session:\n")
	for _, id := range source {
		fmt.Fprintf(&b, "- %s\n", a.titles[id])
	}
	return b.String()
}

// compacted records that a summary took the place of its source window.
func (a *agent) compacted(ctx context.Context, call *producer.Call, r window.Replacement, summary string) error {
	items := a.items
	err := a.add(ctx, producer.Content{
		ID: r.ID, Title: fmt.Sprintf("summary of %d items", len(r.Of)), ContextKind: "computed_summary", Layer: "summary", Role: window.RoleAssistant,
		Kind: window.KindSummary, Text: summary,
	})
	if err != nil {
		return err
	}
	a.items = items // the plan has put the summary where it belongs
	for i := range a.items {
		if a.items[i].ID == r.ID {
			a.items[i].Layer = "summary"
		}
	}
	return call.Compact(ctx,
		&schema.CompactionCompleted{Compaction: schema.Compaction{
			CompactionID: "compaction-" + a.id.call, Scope: "thread", SourceItemRefs: schema.Refs(r.Of...),
			SourceWindow: &schema.SourceWindow{
				ThreadID: session, FirstItemRef: schema.Ref(r.Of[0]), LastItemRef: schema.Ref(r.Of[len(r.Of)-1]),
				ItemCount: new(int64(len(r.Of))), Tokens: new(int64(r.Before)),
			},
			SummaryRef: schema.Ref(r.ID), Method: schema.MethodStructuredDigest, Trigger: schema.TriggerTokenPressure,
			LossNotes: []string{"file contents; they can be read again"}, ReplacementPolicy: "replace_window",
			TokensBefore: new(int64(r.Before)), TokensAfter: new(int64(r.After)),
		}},
		&schema.SummaryCreated{Summary: schema.Summary{
			SummaryID: r.ID, SummaryKind: "thread_summary", SourceItemRefs: schema.Refs(r.Of...), Tokens: new(int64(r.After)),
			LossNotes: []string{"file contents; they can be read again"},
		}})
}

// errNoFile is what a tool returns for a file that is not there.
var errNoFile = errors.New("no such file")

// read is a tool: the agent asks for a file and gets its text, if its grants
// reach so far.
func (a *agent) read(ctx context.Context, name string) error {
	if err := a.call(ctx); err != nil {
		return err
	}
	id := fmt.Sprintf("read-%02d", a.number.call)
	err := a.add(ctx, producer.Content{
		ID: id, Title: "Read " + name, ContextKind: "tool_call", Layer: "tool calls", Role: window.RoleAssistant, Kind: window.KindToolCall,
		Text: fmt.Sprintf(`{"tool":"Read","path":%q}`, name), ToolName: "Read", ToolCallID: id, CallID: a.id.call,
	})
	if err != nil {
		return err
	}
	text, readErr := a.open(ctx, name)
	title := "contents of " + name
	if readErr != nil {
		text, title = "error: "+readErr.Error(), "error: "+name+" is not readable"
	}
	err = a.add(ctx, producer.Content{
		ID: id + ":result", Title: title, ContextKind: "tool_result", Layer: "tool results", Role: window.RoleTool, Kind: window.KindToolResult,
		Text: text, SourceURI: "repo:///" + name, SourceKind: "file", ToolName: "Read", ToolCallID: id, CallID: a.id.call, Reads: name,
	})
	return errors.Join(err, readErr)
}

// open reads a file if a grant reaches it, and records the access either way.
func (a *agent) open(ctx context.Context, name string) (string, error) {
	access := &schema.ResourceAccessed{
		Resource:  schema.Resource{BindingID: "repo", Name: "repo", ResourceKind: "files", DeclaredMode: "read", EffectiveMode: "read", Tools: []string{"Read"}},
		Operation: "read", Path: name,
	}
	path, err := grant.ParsePath(namespace + "/" + name)
	if err != nil {
		return "", err
	}
	matched, allowed := a.run.Grants().Match(path)
	access.MatchedGrant, access.Allowed = matched.String(), allowed
	if err := a.turn.Record(ctx, access); err != nil {
		return "", err
	}
	if !allowed {
		return "", fmt.Errorf("%s is outside of this run's grants", name)
	}
	text, err := fs.ReadFile(a.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s", errNoFile, name)
	}
	return string(text), err
}

// answer ends a turn: one more call, the answer, the seal.
func (a *agent) answer(ctx context.Context, text string) error {
	if err := a.call(ctx); err != nil {
		return err
	}
	a.say("        assistant: %s", text)
	err := a.add(ctx, producer.Content{
		Title: "assistant: " + text, ContextKind: "assistant_message", Layer: "assistant", Role: window.RoleAssistant, Kind: window.KindMessage,
		Text: text, CallID: a.id.call,
	})
	if err != nil {
		return err
	}
	return a.turn.Seal(ctx)
}
