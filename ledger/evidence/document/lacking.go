package document

import (
	"cmp"
	"slices"
)

// Thing is something that records name: its kind, such as item, and its id.
type Thing struct{ Kind, ID string }

// mostLacking bounds what is held of things that nothing describes. A pack that was
// exported for a part of a session is searched for what describes them.
const mostLacking = 100_000

// lacking keeps the things that records name and none has described yet.
type lacking struct {
	things map[string]Thing // by evidence id
	cut    bool             // there were more
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

// list is in order of kind and id.
func (l *lacking) list() []Thing {
	var list []Thing
	for _, t := range l.things {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Thing) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	return list
}
