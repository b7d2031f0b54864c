package river

import (
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// A Layer is one of the groups of layers that have a colour of their own.
type Layer string

// The layers, from the bottom of a column to its top.
const (
	Unexplained Layer = windowview.Unexplained // billed, but in no log
	System      Layer = "system"
	Summary     Layer = "summary"
	Injected    Layer = "injected"
	User        Layer = "user"
	Assistant   Layer = "assistant"
	Reasoning   Layer = "reasoning"
	ToolCalls   Layer = "tool_calls"
	ToolResults Layer = "tool_results"
)

// Layers lists all layers, from the bottom of a column to its top.
var Layers = []Layer{Unexplained, System, Summary, Injected, User, Assistant, Reasoning, ToolCalls, ToolResults}

var groupOf = map[string]Layer{
	"system": System, "tools": System, "developer": System,
	"summary": Summary,
	"user":    User, "media": User,
	"assistant": Assistant, "reasoning": Reasoning,
	"tool_calls": ToolCalls, "tool_results": ToolResults, "tool": ToolResults,
}

// LayerOf returns the layer whose colour a recorded layer has. Memory, retrieval, the scratchpad
// and all layers with other names were brought into the window: they are Injected.
func LayerOf(recorded string) Layer {
	if l, ok := groupOf[recorded]; ok {
		return l
	}
	return Injected
}

// A Key explains one colour of a drawing.
type Key struct {
	Layer Layer
	Name  string // the recorded layers with this colour
}

// keys explains the layers that occur, the top one first, by the recorded names.
func keys(recorded map[string]bool, unexplained, unsized bool) (list []Key) {
	for _, l := range slices.Backward(Layers) {
		if l == Unexplained {
			continue
		}
		var names []string
		for name := range recorded {
			if LayerOf(name) == l {
				names = append(names, strings.ReplaceAll(name, "_", " "))
			}
		}
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		name := strings.Join(names, ", ")
		list = append(list, Key{l, strings.ToUpper(name[:1]) + name[1:]})
	}
	if unexplained {
		name := windowview.RestName(slices.Collect(maps.Keys(recorded)), false, unsized)
		list = append(list, Key{Unexplained, strings.ToUpper(name[:1]) + name[1:]})
	}
	return list
}
