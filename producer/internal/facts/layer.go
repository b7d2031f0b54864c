package facts

import (
	"hash/maphash"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// tokensByUse are the tokens of a window by use. With the retrieved tokens they are the
// whole window.
//
// Source: seed 003 (per-layer usage breakdown).
type tokensByUse struct{ system, tools, history int64 }

func tokensByUseOf(items []window.Item) (s tokensByUse) {
	for _, item := range items {
		switch item.Kind {
		case window.KindRetrieved:
			continue
		case window.KindMessage, window.KindToolCall, window.KindToolResult, window.KindSummary, window.KindStub:
			if !window.Instructs(item.Role) || item.Kind == window.KindSummary {
				s.history += int64(item.Tokens)
				continue
			}
		}
		if item.Layer == window.LayerTools {
			s.tools += int64(item.Tokens)
		} else {
			s.system += int64(item.Tokens)
		}
	}
	return s
}

// layersOf returns the tokens of each layer of a window, in the order of the layers' first
// items.
func layersOf(items []window.Item) (list []schema.LayerUsage) {
	index := make(map[string]int)
	for _, item := range items {
		i, ok := index[item.Layer]
		if !ok {
			i = len(list)
			index[item.Layer] = i
			list = append(list, schema.LayerUsage{Layer: item.Layer, Tokens: new(int64), Items: new(int64)})
		}
		*list[i].Tokens += int64(item.Tokens)
		*list[i].Items++
	}
	return list
}

// UsageFact returns the tokens of the plan's window by use and by layer.
func UsageFact(call, model string, plan window.Plan) *schema.UsageRecorded {
	s := tokensByUseOf(plan.Window)
	return &schema.UsageRecorded{
		Known:  schema.Known{Fidelity: schema.FidelityStated},
		CallID: call, Model: model, Layers: layersOf(plan.Window),
		SystemTokens: &s.system, ToolsTokens: &s.tools, HistoryTokens: &s.history, TotalTokens: new(int64(plan.TokensAfter)),
	}
}

// printSeed keys the prints. Prints are compared only within the process.
var printSeed = maphash.MakeSeed()

// printsOf returns a hash of each layer's content, to detect changes.
func printsOf(items []window.Item) map[string]uint64 {
	type entry struct {
		before uint64
		id     string
		tokens int
	}
	prints := make(map[string]uint64)
	for _, item := range items {
		prints[item.Layer] = maphash.Comparable(printSeed, entry{prints[item.Layer], item.ID, item.Tokens})
	}
	return prints
}
