package openhands

import (
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/completion"
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
)

// ohEvent is one event of an OpenHands log. In versions 0.9 to 0.6x an event is an action or an
// observation. An event of the SDK has a kind.
type ohEvent struct {
	ID          jsonscan.Span // a number, or a string
	Timestamp   string
	Source      string // agent, user, environment
	Action      ohWord
	Observation ohWord
	Cause       jsonscan.Span // id of the action that an observation answers
	Args        jsonscan.Span
	Content     jsonscan.Span
	Extras      jsonscan.Span
	Tool        *ohTool
	Metrics     *ohMetrics
	Kind        ohWord
	sdk         *ohSDKEvent // further members of an event of the SDK, nil for other events
}

func (e *ohEvent) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.Span(&e.ID)
		case "timestamp":
			return c.Text(&e.Timestamp)
		case "source":
			return c.Text(&e.Source)
		case "action":
			return e.Action.Read(c)
		case "observation":
			return e.Observation.Read(c)
		case "cause":
			return c.Span(&e.Cause)
		case "args":
			return c.Span(&e.Args)
		case "content":
			return c.Span(&e.Content)
		case "extras":
			return c.Span(&e.Extras)
		case "tool_call_metadata":
			return jsonscan.ReadNew(c, &e.Tool, (*ohTool).Read)
		case "llm_metrics":
			return c.Into(&e.Metrics)
		case "kind":
			return e.Kind.Read(c)
		}
		return c.Skip()
	})
}

// ohWord is a string. A value of another form is read as "".
type ohWord string

func (w *ohWord) Read(c *jsonscan.Cursor) bool {
	value := c.Value()
	if *w = ""; value.Kind() == '"' {
		*w = ohWord(jsonscan.TextOf(value))
	}
	return value != nil
}

// ohTool is the model's tool call and the answer that contains it. Observations repeat both.
type ohTool struct {
	Function string
	CallID   string
	Response *completion.Response
}

func (t *ohTool) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "function_name":
			return c.Text(&t.Function)
		case "tool_call_id":
			return c.Text(&t.CallID)
		case "model_response":
			return jsonscan.ReadNew(c, &t.Response, (*completion.Response).Read)
		}
		return c.Skip()
	})
}

// ohChoice is one choice of the model's answer.
type ohChoice struct {
	FinishReason string
	Content      jsonscan.Span
	Reasoning    jsonscan.Span
	ToolCalls    []completion.ToolCall
}

func (o *ohChoice) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "finish_reason":
			return c.Text(&o.FinishReason)
		case "message":
			return c.Null() || o.message(c)
		}
		return c.Skip()
	})
}

func (o *ohChoice) message(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "content":
			return c.Span(&o.Content)
		case "reasoning_content":
			return c.Span(&o.Reasoning)
		case "tool_calls":
			return jsonscan.ReadList(c, &o.ToolCalls, (*completion.ToolCall).Read)
		}
		return c.Skip()
	})
}

// choice returns the first choice of the event's answer, nil if the event does not hold the
// answer. The choice is decoded on demand. Pass 1 and observations do not need it.
func (e *ohEvent) choice() *ohChoice {
	if e.Tool == nil || e.Tool.Response == nil || e.Tool.Response.Choices == nil {
		return nil
	}
	var choices []ohChoice
	list := func(c *jsonscan.Cursor) bool { return jsonscan.ReadList(c, &choices, (*ohChoice).Read) }
	if !jsonscan.Decode(e.Tool.Response.Choices, list) || len(choices) == 0 {
		return nil
	}
	return &choices[0]
}

// ohMetrics is the usage of a run up to an event.
type ohMetrics struct {
	Total *completion.Tokens `json:"accumulated_token_usage"`
}

// id returns the event's id, "" without an id.
func (e *ohEvent) id() string { return model.IDText(e.ID) }

// kind returns the native type under which reports and facts name the event.
func (e *ohEvent) kind() string {
	switch {
	case e.sdk != nil:
		return string(e.Kind)
	case e.Action != "":
		return "action:" + model.BlockName(string(e.Action))
	case e.Observation != "":
		return "observation:" + model.BlockName(string(e.Observation))
	}
	return ""
}

// ohArgs are the arguments of the actions that import reads.
type ohArgs struct {
	Content      jsonscan.Span
	Thought      jsonscan.Span
	FinalThought string
	Command      jsonscan.Span
	Query        string
	ImageURLs    []jsonscan.Span
	Tools        jsonscan.Span
	Version      string
	AgentClass   string
	Forgotten    []jsonscan.Span
	From         *int64
	To           *int64
	Summary      *string
	Offset       *int64
}

// args returns the arguments. An argument of another form ends the decoding; later arguments stay
// empty.
func (e *ohEvent) args() *ohArgs {
	if e.sdk != nil {
		return &ohArgs{Forgotten: e.sdk.Forgotten, Summary: e.sdk.Summary, Offset: e.sdk.Offset}
	}
	args := new(ohArgs)
	if e.Args != nil {
		jsonscan.Decode(e.Args, args.Read)
	}
	return args
}

func (a *ohArgs) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "content":
			return c.Span(&a.Content)
		case "thought":
			return c.Span(&a.Thought)
		case "final_thought":
			return c.Text(&a.FinalThought)
		case "command":
			return c.Span(&a.Command)
		case "query":
			return c.Text(&a.Query)
		case "image_urls":
			return c.Into(&a.ImageURLs)
		case "tools":
			return c.Span(&a.Tools)
		case "openhands_version":
			return c.Text(&a.Version)
		case "agent_class":
			return c.Text(&a.AgentClass)
		case "forgotten_event_ids":
			return c.Into(&a.Forgotten)
		case "forgotten_events_start_id":
			return c.Into(&a.From)
		case "forgotten_events_end_id":
			return c.Into(&a.To)
		case "summary":
			return c.Into(&a.Summary)
		case "summary_offset":
			return c.Into(&a.Offset)
		}
		return c.Skip()
	})
}

// ohActionNoModel are the actions that no model chose or saw.
var ohActionNoModel = map[ohWord]bool{
	"null": true, "change_agent_state": true, "pause": true, "resume": true, "stop": true, "start": true, "init": true,
	"condensation_request": true, "agent_state_changed": true, "send_pr": true, "push": true,
}

// ohObservationNoModel are the observations that no model sees.
var ohObservationNoModel = map[ohWord]bool{
	"null": true, "agent_state_changed": true, "server_ready": true, "loop_detection": true, "condense": true, "recall_failure": true,
}

// ohActions are the actions that an agent's model may choose.
var ohActions = map[ohWord]bool{
	"message": true, "run": true, "run_ipython": true, "read": true, "write": true, "edit": true, "browse": true, "browse_interactive": true,
	"delegate": true, "think": true, "finish": true, "reject": true, "call_tool_mcp": true, "mcp": true, "task_tracking": true,
	"add_task": true, "modify_task": true, "kill": true, "summarize": true,
}

// ohObservations are the observations that answer an action.
var ohObservations = map[ohWord]bool{
	"run": true, "run_ipython": true, "read": true, "write": true, "edit": true, "browse": true, "delegate": true, "think": true, "mcp": true,
	"error": true, "success": true, "chat": true, "user_rejected": true, "task_tracking": true, "recall": true, "download": true, "kill": true,
}

// byAgent reports whether a model chose the action.
func (e *ohEvent) byAgent() bool {
	return e.Source == "agent" && (ohActions[e.Action] || e.sdk != nil && (e.Kind == ohAction || e.Kind == ohMessage))
}

// unparsed reports whether the event stands in the place of an answer that the program could not
// parse: an error of the agent that no action caused.
func (e *ohEvent) unparsed() bool {
	return e.Observation == "error" && e.Source == "agent" && e.Tool == nil && (e.Cause == nil || e.Cause.Kind() == 'n')
}

// condenses reports whether the event removed other events from the window.
func (e *ohEvent) condenses() bool {
	return e.Action == "condensation" || e.sdk != nil && e.Kind == ohCondensation
}

// response returns the id of the model's answer that contains the event, "" when unknown.
func (e *ohEvent) response() string {
	if e.sdk != nil {
		return e.sdk.ResponseID
	}
	if e.Tool == nil || e.Tool.Response == nil {
		return ""
	}
	return e.Tool.Response.ID
}

// recalled returns the results of a recall, as far as the event holds them. The program writes
// the results into the prompt by a template that the log does not hold.
func (e *ohEvent) recalled() string {
	var extras struct {
		Instructions string `json:"repo_instructions"`
		Additional   string `json:"additional_agent_instructions"`
		Conversation string `json:"conversation_instructions"`
		Knowledge    []struct {
			Content string `json:"content"`
		} `json:"microagent_knowledge"`
	}
	if e.Extras.Kind() == '{' {
		_ = json.Unmarshal(e.Extras, &extras, jsonscan.Streamed) // a value of another form leaves the member empty
	}
	texts := []string{extras.Instructions, extras.Additional, extras.Conversation}
	for _, k := range extras.Knowledge {
		texts = append(texts, k.Content)
	}
	return strings.Join(model.NonEmpty(texts), "\n\n")
}

// forgets returns a predicate for the records, by [ohHash], that a condensation removes from the
// window.
func (a *ohArgs) forgets() func(record uint64) bool {
	if len(a.Forgotten) > 0 || a.From == nil || a.To == nil {
		listed := make(map[uint64]bool, len(a.Forgotten))
		for _, id := range a.Forgotten {
			listed[ohHash(model.IDText(id))] = true
		}
		return func(record uint64) bool { return listed[record] }
	}
	from, to := *a.From, *a.To
	return func(record uint64) bool {
		n := int64(record &^ hashset.Numbered)
		return record&hashset.Numbered != 0 && from <= n && n <= to
	}
}

// ohRecord returns the id of the record that holds an event.
func ohRecord(id string) string { return "event-" + id }

// ohHash returns the hash that represents an event's record in memory.
func ohHash(id string) uint64 {
	if n, err := strconv.ParseUint(id, 10, 63); err == nil && strconv.FormatUint(n, 10) == id {
		return hashset.Numbered | n
	}
	return model.HashOf(ohRecord(id))
}
