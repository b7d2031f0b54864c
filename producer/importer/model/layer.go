package model

// layer is what fills a part of a window; the package comment says what each
// holds. The zero value is none.
type layer uint8

// The layers, in the order of their names.
const (
	LayerNone layer = iota
	LayerAssistant
	layerElided
	LayerInjected
	LayerMedia
	LayerReasoning
	LayerSummary
	LayerSystem
	LayerToolCalls
	LayerToolResults
	LayerTools
	LayerUser
	layerCount
)

var layerNames = [layerCount]string{
	LayerAssistant:   "assistant",
	layerElided:      "elided",
	LayerInjected:    "injected",
	LayerMedia:       "media",
	LayerReasoning:   "reasoning",
	LayerSummary:     "summary",
	LayerSystem:      "system",
	LayerToolCalls:   "tool_calls",
	LayerToolResults: "tool_results",
	LayerTools:       "tools",
	LayerUser:        "user",
}

func (l layer) String() string { return layerNames[l] }

// layerSize is how much of a window one layer fills.
type layerSize struct {
	items   int64
	tokens  int64
	unknown bool  // at least one item of unknown size
	changes int64 // sum over positions, so that an exchanged item is seen
}

func (s *layerSize) Add(e *Entry) {
	s.items++
	s.changes += e.position
	if e.tokens < 0 {
		s.unknown = true
	} else {
		s.tokens += e.tokens
	}
}

// layerSizes are those of a window; a layer without items is not in it.
type layerSizes [layerCount]layerSize

// used is how many layers have items.
func (s *layerSizes) used() (n int) {
	for of := range s {
		if s[of].items > 0 {
			n++
		}
	}
	return n
}
