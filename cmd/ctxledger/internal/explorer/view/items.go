package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// Item is an item of a session with the calls whose windows held it.
type Item struct {
	ID, Title, Layer, Class string
	Tokens                  *int64 // in the last window that held it; nil if unknown
	First, Last             int    // numbers of the calls
	Calls                   int    // windows that held it
	Sum                     int64  // tokens over all windows
	States                  string // shortened, withheld
}

// Items lists the items of all windows, the ones that took the most tokens first.
func Items(calls []river.Call, windows map[source.WindowKey]windowview.Window) []Item {
	index := make(map[string]*Item)
	for _, c := range calls {
		w := windows[source.WindowKey{Turn: c.Turn, Call: c.Call, Attempt: c.Attempt}]
		for _, b := range w.ForModel() {
			if len(b.Items) != 1 {
				continue
			}
			i := index[b.Items[0]]
			if i == nil {
				i = &Item{ID: b.Items[0], First: c.Number}
				index[i.ID] = i
			}
			i.see(c.Number, b)
		}
	}
	list := make([]Item, 0, len(index))
	for _, i := range index {
		list = append(list, *i)
	}
	slices.SortFunc(list, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.First, b.First), strings.Compare(a.ID, b.ID))
	})
	return list
}

func (i *Item) see(number int, b windowview.Block) {
	i.Calls++
	i.Last, i.Tokens = number, b.Tokens
	i.Title, i.Layer, i.Class = shorten(b.What()), words(b.Layer), "l-"+string(river.LayerOf(b.Layer))
	if b.Tokens != nil {
		i.Sum += *b.Tokens
	}
	for state, holds := range map[string]bool{"shortened": b.Elided, "withheld": river.IsWithheld(b)} {
		if holds && !strings.Contains(i.States, state) {
			i.States = strings.Trim(i.States+" "+state, " ")
		}
	}
}
