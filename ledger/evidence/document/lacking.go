package document

import (
	"cmp"
	"slices"
)

// Thing is an id that records name, with its kind, such as item.
type Thing struct{ Kind, ID string }

// mostLacking bounds the number of things without a description. The export of a part of a session
// searches the whole session for their descriptions.
const mostLacking = 100_000

// lacking keeps the things that records name and no record has described yet.
type lacking struct {
	things map[string]Thing // by evidence id
	cut    bool             // there were more than mostLacking
}

func (l *lacking) name(id string, k kind, named string) {
	if l.cut = l.cut || len(l.things) >= mostLacking; l.cut {
		return
	}
	if l.things == nil {
		l.things = make(map[string]Thing)
	}
	l.things[id] = Thing{string(k), named}
}

func (l *lacking) describe(id string) { delete(l.things, id) }

// list returns the things in order of kind and id.
func (l *lacking) list() []Thing {
	var list []Thing
	for _, t := range l.things {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Thing) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	return list
}
