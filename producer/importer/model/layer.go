package model

// layer is a kind of content that fills a part of a window. The package comment describes each
// layer. The zero value is no layer.
type layer uint8

// The layers, in the order of their names.
const (
	LayerNone layer = iota
	LayerAssistant
	layerElided
	LayerInjected
	LayerMedia
	LayerOpaque
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
	LayerOpaque:      "opaque",
	LayerReasoning:   "reasoning",
	LayerSummary:     "summary",
	LayerSystem:      "system",
	LayerToolCalls:   "tool_calls",
	LayerToolResults: "tool_results",
	LayerTools:       "tools",
	LayerUser:        "user",
}

// LayerNamed returns the layer of the name. Any other name is of layer opaque.
func LayerNamed(name string) layer {
	for l, known := range layerNames {
		if known == name && known != "" {
			return layer(l)
		}
	}
	return LayerOpaque
}

func (l layer) String() string { return layerNames[l] }

// layerSize is the size of one layer of a window.
type layerSize struct {
	items   int64
	tokens  int64
	unknown bool  // at least one item of unknown size
	changes int64 // sum over positions, to detect an exchanged item
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

// layerSizes are the sizes of a window's layers. A layer without items is absent.
type layerSizes [layerCount]layerSize

// used returns the number of layers that have items.
func (s *layerSizes) used() (n int) {
	for of := range s {
		if s[of].items > 0 {
			n++
		}
	}
	return n
}
