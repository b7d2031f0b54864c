package importer

// layer is what fills a part of a window; the package comment says what each
// holds. The zero value is none.
type layer uint8

// The layers, in the order of their names.
const (
	layerNone layer = iota
	layerAssistant
	layerElided
	layerInjected
	layerMedia
	layerReasoning
	layerSummary
	layerSystem
	layerToolCalls
	layerToolResults
	layerTools
	layerUser
	layerCount
)

var layerNames = [layerCount]string{
	layerAssistant:   "assistant",
	layerElided:      "elided",
	layerInjected:    "injected",
	layerMedia:       "media",
	layerReasoning:   "reasoning",
	layerSummary:     "summary",
	layerSystem:      "system",
	layerToolCalls:   "tool_calls",
	layerToolResults: "tool_results",
	layerTools:       "tools",
	layerUser:        "user",
}

func (l layer) String() string { return layerNames[l] }

// layerSize is how much of a window one layer fills.
type layerSize struct {
	items   int64
	tokens  int64
	unknown bool  // at least one item of unknown size
	changes int64 // sum over positions, so that an exchanged item is seen
}

func (s *layerSize) add(e *entry) {
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
