package openhands

import (
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/completion"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of events of the OpenHands SDK (OpenHands 1.0 and later).
const (
	ohSystem       = "SystemPromptEvent"
	ohMessage      = "MessageEvent"
	ohAction       = "ActionEvent"
	ohObservation  = "ObservationEvent"
	ohRejection    = "UserRejectObservation"
	ohAgentError   = "AgentErrorEvent"
	ohCondensation = "Condensation"
)

// ohKinds are the known kinds. A kind is true if a model sees the content, or if the event
// changes the model's window.
var ohKinds = map[ohWord]bool{
	ohSystem: true, ohMessage: true, ohAction: true, ohObservation: true, ohRejection: true, ohAgentError: true, ohCondensation: true,

	"CondensationRequest": false, "CondensationSummaryEvent": false, // repeated from a condensation for each window
	"ConversationStateUpdateEvent": false, "ConversationErrorEvent": false, "PauseEvent": false, "InterruptEvent": false,
	"TokenEvent": false, "LLMCompletionLogEvent": false, "StreamingDeltaEvent": false, "HookExecutionEvent": false, "ACPToolCallEvent": false,
}

// ohSDKEvent holds the members of an SDK event that [ohEvent] does not have.
type ohSDKEvent struct {
	System  ohBlock       `json:"system_prompt"`
	Dynamic ohBlock       `json:"dynamic_context"`
	Tools   jsonscan.Span `json:"tools"`
	Message struct {
		Content jsonscan.Span `json:"content"`
		ohThinking
	} `json:"llm_message"`
	Extended   jsonscan.Span `json:"extended_content"` // text that the program adds to the message or the result
	ResponseID string        `json:"llm_response_id"`
	Thought    jsonscan.Span `json:"thought"`
	ohThinking
	ToolName string `json:"tool_name"`
	CallID   string `json:"tool_call_id"`
	Call     struct {
		Arguments jsonscan.Span `json:"arguments"`
	} `json:"tool_call"`
	Result    jsonscan.Span   `json:"observation"`
	ActionID  jsonscan.Span   `json:"action_id"`
	Error     jsonscan.Span   `json:"error"`
	Rejection jsonscan.Span   `json:"rejection_reason"`
	Forgotten []jsonscan.Span `json:"forgotten_event_ids"`
	Summary   *string         `json:"summary"`
	Offset    *int64          `json:"summary_offset"`
}

// ohBlock is a block of a message.
type ohBlock struct {
	Text      jsonscan.Span   `json:"text"`
	ImageURLs []jsonscan.Span `json:"image_urls"`
}

// ohThinking is the reasoning of a model, in the form of its provider.
type ohThinking struct {
	Reasoning jsonscan.Span `json:"reasoning_content"`
	Blocks    []struct {
		Thinking string `json:"thinking"`
	} `json:"thinking_blocks"`
}

func (t *ohThinking) reasoning() string {
	if text := jsonscan.TextOf(t.Reasoning); text != "" {
		return text
	}
	var texts []string
	for i := range t.Blocks {
		texts = append(texts, t.Blocks[i].Thinking)
	}
	return strings.Join(model.NonEmpty(texts), "\n")
}

// ohTexts returns the texts and the images of a content, which is a string or an array of blocks.
func ohTexts(content jsonscan.Span) (text string, images []jsonscan.Span) {
	var blocks []ohBlock
	if content.Kind() != '[' || json.Unmarshal(content, &blocks, jsonscan.Streamed) != nil {
		return jsonscan.TextOf(content), nil
	}
	texts := make([]string, 0, len(blocks))
	for i := range blocks {
		texts = append(texts, jsonscan.TextOf(blocks[i].Text))
		images = append(images, blocks[i].ImageURLs...)
	}
	return strings.Join(model.NonEmpty(texts), "\n"), images
}

// sdkEvent imports an event of the SDK.
func (im *ohImport) sdkEvent(o *model.Origin, e *ohEvent, args *ohArgs) error {
	s := e.sdk
	switch e.Kind {
	case ohSystem:
		pieces := systemPieces(jsonscan.TextOf(s.System.Text), s.Tools)
		if dynamic := jsonscan.TextOf(s.Dynamic.Text); dynamic != "" {
			pieces = append(pieces, model.TextPiece(dynamic, "system_instruction", model.LayerSystem, "system", "Context of the conversation"))
		}
		return im.emitPieces(o, "", pieces...)
	case ohMessage:
		return im.sdkMessage(o, e)
	case ohAction:
		text, _ := ohTexts(s.Thought)
		pieces := append(reasoningPiece(o, s.reasoning()), answerPiece(o, text)...)
		e.Tool = &ohTool{CallID: s.CallID, Response: &completion.Response{ID: s.ResponseID}}
		return im.emitPieces(o, im.callID, append(pieces, im.callPiece(o, e, s.ToolName, jsonscan.TextOf(s.Call.Arguments)))...)
	case ohObservation:
		text, images := s.result()
		return im.sdkResult(o, e, text, images)
	case ohRejection:
		return im.sdkResult(o, e, "Action rejected: "+jsonscan.TextOf(s.Rejection), nil)
	case ohAgentError:
		return im.sdkResult(o, e, jsonscan.TextOf(s.Error), nil)
	case ohCondensation:
		return im.condensation(o, args)
	}
	if _, known := ohKinds[e.Kind]; known {
		im.Report.Ignore(e.kind())
	} else {
		im.Report.NoteUnknown("kind " + model.Quoted(string(e.Kind)))
	}
	return nil
}

// sdkMessage imports a message of the user or of the model, or a message of the program in the
// user role.
func (im *ohImport) sdkMessage(o *model.Origin, e *ohEvent) error {
	text, images := ohTexts(e.sdk.Message.Content)
	if e.Source == "agent" {
		return im.emitPieces(o, im.callID, append(reasoningPiece(o, e.sdk.Message.reasoning()), answerPiece(o, text)...)...)
	}
	p := model.TextPiece(text, "injected_message", model.LayerInjected, "user", "Message of the program")
	if e.Source == "user" {
		im.main.Turn = o.Record
		p = model.TextPiece(text, "user_message", model.LayerUser, "user", "User prompt")
	}
	return im.emitPieces(o, "", e.extended([]model.Piece{p}, images)...)
}

// extended adds the images and the text that the program added to the content.
func (e *ohEvent) extended(pieces []model.Piece, images []jsonscan.Span) []model.Piece {
	for _, url := range images {
		p := model.ImageAt(url, model.Piece{Role: pieces[0].Role})
		p.ItemType = "openhands:image"
		pieces = append(pieces, p)
	}
	if text, _ := ohTexts(e.sdk.Extended); text != "" {
		pieces = append(pieces, model.TextPiece(text, "injected_message", model.LayerInjected, "user", "Added context"))
	}
	return pieces
}

// result returns the result of a tool. The program adds notes before a model sees the result. The
// templates of these notes are not in the log.
func (s *ohSDKEvent) result() (text string, images []jsonscan.Span) {
	var result struct {
		Content jsonscan.Span `json:"content"`
		Output  jsonscan.Span `json:"output"` // in the first versions
	}
	if s.Result.Kind() != '{' || json.Unmarshal(s.Result, &result, jsonscan.Streamed) != nil {
		return "", nil
	}
	if result.Content == nil {
		result.Content = result.Output
	}
	return ohTexts(result.Content)
}

// sdkResult imports the result of a tool call. The result names an action, which identifies the
// call among calls with the same id.
func (im *ohImport) sdkResult(o *model.Origin, e *ohEvent, text string, images []jsonscan.Span) error {
	id, known := im.actions.of(ohHash(model.IDText(e.sdk.ActionID)))
	if !known && model.IDText(e.sdk.ActionID) != "" && !im.main.Log.Partial {
		im.main.Log.Gap = true // the log lacks the action
	}
	if !known || id == "" {
		if id = im.Usable(im.line, "tool_call_id", e.sdk.CallID); id == "" {
			return im.emitPieces(o, "", model.TextPiece(text, "injected_message", model.LayerInjected, "user", "Observation"))
		}
		if newest, ok := im.renamed[model.HashOf(id)]; ok {
			id = newest
		}
	}
	p := im.resultPiece(id, text)
	if e.Kind == ohObservation && p.Extra == nil {
		p.Extra = map[string]any{"text_before_template": true}
	}
	return im.emitPieces(o, "", e.extended([]model.Piece{p}, images)...)
}

// stats reads the usage of an SDK conversation. The usage has one list per purpose: the agent,
// condensations and others. Only response ids link a count to its call.
//
//	base_state.json: id, agent.kind, agent.llm.model, max_iterations, stats.usage_to_metrics.<what for>.token_usages
func (run *ohRun) stats(d *model.Document) error {
	_, err := d.Members(func(name string) error {
		if name != "usage_to_metrics" {
			return d.Dec.SkipValue()
		}
		_, err := d.Members(func(string) error {
			cost, total := run.cost, run.total
			run.cost, run.total = nil, nil
			if err := run.metrics(d); err != nil {
				return err
			}
			run.cost, run.total = completion.SumOf(cost, run.cost), total.Plus(run.total)
			if run.costs.Len() != run.counts.Len() { // the calls of the costs are unknown
				run.costs.Cut(0)
				for range run.counts.Len() {
					run.costs.Add(completion.PackedCost(nil))
				}
			}
			return nil
		})
		return err
	})
	return err
}

// describe reads the other members of a conversation's state.
func (run *ohRun) describe(state jsontext.Value) {
	var s struct {
		ID    jsonscan.Span `json:"id"`
		Agent struct {
			Kind string `json:"kind"`
			LLM  struct {
				Model string `json:"model"`
			} `json:"llm"`
		} `json:"agent"`
		MaxIterations *int64 `json:"max_iterations"`
	}
	_ = json.Unmarshal(state, &s, jsonscan.Streamed) // a value of another form leaves the member empty
	run.id = model.IDText(s.ID)
	run.head = ohHead{AgentClass: s.Agent.Kind, MaxIterations: s.MaxIterations, Model: &ohModel{s.Agent.LLM.Model}}
}

// linkByName assigns counts to answers by response id only. The other counts belong to calls
// without an event.
func (run *ohRun) linkByName() {
	place := run.places()
	for _, a := range run.answers.All() {
		if at, known := place[a.response]; known && a.response != 0 && run.counts.At(at).Response != "" {
			a.count = at
			run.counts.At(at).Response = "" // the count is assigned
		}
	}
	run.rest = ohBackground{to: run.counts.Len(), named: true}
}
