package importer

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// ohEvent is one event of an OpenHands log, as versions 0.9 to 0.6x write it:
// an action or an observation; or one of the SDK, which has a kind.
type ohEvent struct {
	ID          span // a number, or a string
	Timestamp   string
	Source      string // agent, user, environment
	Action      ohWord
	Observation ohWord
	Cause       span // id of the action that an observation answers
	Args        span
	Content     span
	Extras      span
	Tool        *ohTool
	Metrics     *ohMetrics
	Kind        ohWord
	sdk         *ohSDKEvent // what else an event of the SDK has, nil for another
}

func (e *ohEvent) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.span(&e.ID)
		case "timestamp":
			return c.string(&e.Timestamp)
		case "source":
			return c.string(&e.Source)
		case "action":
			return e.Action.read(c)
		case "observation":
			return e.Observation.read(c)
		case "cause":
			return c.span(&e.Cause)
		case "args":
			return c.span(&e.Args)
		case "content":
			return c.span(&e.Content)
		case "extras":
			return c.span(&e.Extras)
		case "tool_call_metadata":
			return readNew(c, &e.Tool, (*ohTool).read)
		case "llm_metrics":
			return c.into(&e.Metrics)
		case "kind":
			return e.Kind.read(c)
		}
		return c.skip()
	})
}

// ohWord is a string, and "" where the log has a value of another form.
type ohWord string

func (w *ohWord) read(c *cursor) bool {
	value := c.value()
	if *w = ""; value.Kind() == '"' {
		*w = ohWord(textOf(value))
	}
	return value != nil
}

// ohTool is the model's own call of a tool, and the answer that it stands in.
// Observations repeat it.
type ohTool struct {
	Function string
	CallID   string
	Response *ohResponse
}

func (t *ohTool) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "function_name":
			return c.string(&t.Function)
		case "tool_call_id":
			return c.string(&t.CallID)
		case "model_response":
			return readNew(c, &t.Response, (*ohResponse).read)
		}
		return c.skip()
	})
}

// ohChoice is what the model answered.
type ohChoice struct {
	FinishReason string
	Content      span
	Reasoning    span
	ToolCalls    []chosenCall
}

func (o *ohChoice) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "finish_reason":
			return c.string(&o.FinishReason)
		case "message":
			return c.null() || o.message(c)
		}
		return c.skip()
	})
}

func (o *ohChoice) message(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "content":
			return c.span(&o.Content)
		case "reasoning_content":
			return c.span(&o.Reasoning)
		case "tool_calls":
			return readList(c, &o.ToolCalls, (*chosenCall).read)
		}
		return c.skip()
	})
}

// choice is the first choice of the answer that the event stands in, nil where the
// event does not hold it. It is read when it is asked for, which of observations
// and in pass 1 it is not.
func (e *ohEvent) choice() *ohChoice {
	if e.Tool == nil || e.Tool.Response == nil || e.Tool.Response.Choices == nil {
		return nil
	}
	var choices []ohChoice
	list := func(c *cursor) bool { return readList(c, &choices, (*ohChoice).read) }
	if !decode(e.Tool.Response.Choices, list) || len(choices) == 0 {
		return nil
	}
	return &choices[0]
}

// ohMetrics are what a run used so far.
type ohMetrics struct {
	Total *ohTokens `json:"accumulated_token_usage"`
}

// id is the event's id, "" without one.
func (e *ohEvent) id() string { return idText(e.ID) }

// kind is the native type under which reports and facts name the event.
func (e *ohEvent) kind() string {
	switch {
	case e.sdk != nil:
		return string(e.Kind)
	case e.Action != "":
		return "action:" + blockName(string(e.Action))
	case e.Observation != "":
		return "observation:" + blockName(string(e.Observation))
	}
	return ""
}

// ohArgs are the arguments of the actions that import reads.
type ohArgs struct {
	Content      span
	Thought      span
	FinalThought string
	Command      span
	Query        string
	ImageURLs    []span
	Tools        span
	Version      string
	AgentClass   string
	Forgotten    []span
	From         *int64
	To           *int64
	Summary      *string
	Offset       *int64
}

// args are empty from the first one of another form on.
func (e *ohEvent) args() *ohArgs {
	if e.sdk != nil {
		return &ohArgs{Forgotten: e.sdk.Forgotten, Summary: e.sdk.Summary, Offset: e.sdk.Offset}
	}
	args := new(ohArgs)
	if e.Args != nil {
		decode(e.Args, args.read)
	}
	return args
}

func (a *ohArgs) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "content":
			return c.span(&a.Content)
		case "thought":
			return c.span(&a.Thought)
		case "final_thought":
			return c.string(&a.FinalThought)
		case "command":
			return c.span(&a.Command)
		case "query":
			return c.string(&a.Query)
		case "image_urls":
			return c.into(&a.ImageURLs)
		case "tools":
			return c.span(&a.Tools)
		case "openhands_version":
			return c.string(&a.Version)
		case "agent_class":
			return c.string(&a.AgentClass)
		case "forgotten_event_ids":
			return c.into(&a.Forgotten)
		case "forgotten_events_start_id":
			return c.into(&a.From)
		case "forgotten_events_end_id":
			return c.into(&a.To)
		case "summary":
			return c.into(&a.Summary)
		case "summary_offset":
			return c.into(&a.Offset)
		}
		return c.skip()
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

// condenses reports whether the event took others out of the window.
func (e *ohEvent) condenses() bool {
	return e.Action == "condensation" || e.sdk != nil && e.Kind == ohCondensation
}

// response is the id of the model's answer that the event stands in, "" when
// it does not say.
func (e *ohEvent) response() string {
	if e.sdk != nil {
		return e.sdk.ResponseID
	}
	if e.Tool == nil || e.Tool.Response == nil {
		return ""
	}
	return e.Tool.Response.ID
}

// recalled is what a recall found, as far as the event holds it: the program
// writes it into the prompt by a template of its own.
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
		_ = json.Unmarshal(e.Extras, &extras, streamed) // what is of another form stays empty
	}
	texts := []string{extras.Instructions, extras.Additional, extras.Conversation}
	for _, k := range extras.Knowledge {
		texts = append(texts, k.Content)
	}
	return strings.Join(nonEmpty(texts), "\n\n")
}

// forgets tells which records, by [ohHash], a condensation takes out of the
// window.
func (a *ohArgs) forgets() func(record uint64) bool {
	if len(a.Forgotten) > 0 || a.From == nil || a.To == nil {
		listed := make(map[uint64]bool, len(a.Forgotten))
		for _, id := range a.Forgotten {
			listed[ohHash(idText(id))] = true
		}
		return func(record uint64) bool { return listed[record] }
	}
	from, to := *a.From, *a.To
	return func(record uint64) bool {
		n := int64(record &^ numbered)
		return record&numbered != 0 && from <= n && n <= to
	}
}

// ohRecord is the id of the record that holds an event.
func ohRecord(id string) string { return "event-" + id }

// ohHash stands for an event's record in what an import remembers.
func ohHash(id string) uint64 {
	if n, err := strconv.ParseUint(id, 10, 63); err == nil && strconv.FormatUint(n, 10) == id {
		return numbered | n
	}
	return hashOf(ohRecord(id))
}
