package dialect

import (
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json/jsontext"
)

// responsesAnswer reads a response that is one object.
func responsesAnswer(a *Answer, body []byte) {
	f, ok := members(body)
	if !ok {
		a.Problems++
		return
	}
	a.responsesHead(f)
	if f.text("object") == "response.input_tokens" {
		a.Complete = true
		return
	}
	if items, ok := elements(f.get("output")); ok {
		a.Complete = a.Error == ""
		a.responsesItems(items)
	}
}

// responsesHead reads the members of a response other than its output.
func (a *Answer) responsesHead(f fields) {
	a.failed(f)
	if id := short(f.text("id")); id != "" {
		a.MessageID = id
	}
	if model := short(f.text("model")); model != "" {
		a.Model = model
	}
	if status := f.text("status"); status != "" && status != "in_progress" && status != "queued" {
		a.Stop = blockName(status)
	}
	if details, ok := members(f.get("incomplete_details")); ok {
		a.Stop = blockName(details.text("reason"))
	}
	a.use(f.get("usage"), func(f fields) schema.ProviderUsage {
		input, _ := members(f.get("input_tokens_details"))
		output, _ := members(f.get("output_tokens_details"))
		return divided(whole(f.get("input_tokens")), whole(input.get("cached_tokens")),
			whole(f.get("output_tokens")), whole(output.get("reasoning_tokens")))
	})
}

func (a *Answer) responsesItems(items []jsontext.Value) {
	w := windowReader{started: true}
	for _, item := range items {
		for _, b := range w.responsesItem(item) {
			b.Message = -1
			a.Blocks = append(a.Blocks, b)
		}
	}
}

// responsesStream builds a response from its events.
type responsesStream struct {
	done  map[int64]jsontext.Value // output items that ended
	texts map[int64][]byte         // texts of items that did not end
	final []jsontext.Value         // the output of the last event
}

func (s *responsesStream) event(a *Answer, f fields) {
	switch f.text("type") {
	case "response.output_item.done":
		if at := whole(f.get("output_index")); at != nil {
			if s.done == nil {
				s.done = make(map[int64]jsontext.Value)
			}
			s.done[*at] = f.get("item")
		}
	case "response.output_text.delta":
		if at := whole(f.get("output_index")); at != nil {
			if s.texts == nil {
				s.texts = make(map[int64][]byte)
			}
			s.texts[*at] = append(s.texts[*at], textBytes(f.get("delta"))...)
		}
	case "response.completed", "response.incomplete", "response.failed":
		response, ok := members(f.get("response"))
		if !ok {
			a.Problems++
			return
		}
		a.responsesHead(response)
		s.final, _ = elements(response.get("output"))
		a.Complete = true
	case "response.created", "response.in_progress":
		if response, ok := members(f.get("response")); ok {
			a.responsesHead(response)
		}
	case "error":
		if !a.failed(f) {
			a.Error = blockName(f.text("code"))
		}
	}
}

func (s *responsesStream) end(a *Answer) {
	if len(s.final) > 0 {
		a.responsesItems(s.final)
		return
	}
	for at, text := range s.texts {
		if _, ended := s.done[at]; !ended {
			if s.done == nil {
				s.done = make(map[int64]jsontext.Value)
			}
			content := array([]jsontext.Value{part("output_text", quote(string(text)))})
			s.done[at] = object(member{"type", quote("message")}, member{"role", quote("assistant")}, member{"content", content})
		}
	}
	items := make([]jsontext.Value, 0, len(s.done))
	for _, at := range sortedKeys(s.done) {
		items = append(items, s.done[at])
	}
	a.responsesItems(items)
}
