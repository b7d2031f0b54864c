package window

func (s Style) validate() error {
	switch {
	case !s.Level.Valid():
		return &InvalidError{Field: "elision.level", Ref: string(s.Level), Problem: "is not one of the five levels"}
	case s.Level == Hybrid && s.Decide == nil:
		return &InvalidError{Field: "elision.decide", Problem: "is needed for the hybrid level"}
	case s.Level == Offloaded && s.ReloadRef == nil:
		return &InvalidError{Field: "elision.reload_ref", Problem: "is needed for the offloaded level"}
	case s.Level != Trivial && s.Level != Hybrid && s.StubTokens <= 0:
		return &InvalidError{Field: "elision.stub_tokens", Problem: "must be more than 0: a stub is text"}
	}
	return nil
}

// cuts returns what happens to each item; nil where it stays. A call and its
// results are treated as one.
func (s Style) cuts(items []Item, chosen []bool) ([]*Cut, error) {
	cuts := make([]*Cut, len(items))
	for _, unit := range units(items) {
		if err := s.cutUnit(items, unit, chosen, cuts); err != nil {
			return nil, err
		}
	}
	return cuts, nil
}

func (s Style) cutUnit(items []Item, unit []int, chosen []bool, cuts []*Cut) error {
	whole := len(unit) > 1
	for _, i := range unit {
		if items[i].Pinned {
			return nil
		}
		// A call may go with its results; anything else only when chosen.
		whole = whole && (chosen[i] || items[i].Kind == KindToolCall) && items[i].Kind != KindStub
	}
	for _, i := range unit {
		if !chosen[i] || items[i].Kind == KindStub {
			continue
		}
		cut, keep, err := s.cut(items[i])
		switch {
		case err != nil:
			return err
		case keep:
		case whole && (cut.Level == Trivial || s.WholeCalls && cut.StubTokens < size(items, unit)):
			for k, j := range unit {
				cuts[j] = &Cut{Level: cut.Level, ReloadRef: cut.ReloadRef}
				if k == 0 {
					cuts[j].StubTokens = cut.StubTokens
				}
			}
			return nil
		case len(unit) > 1 && (cut.Level == Trivial || items[i].Kind == KindToolCall):
			// It stays, so that no call loses its result and no result its call.
		case cut.StubTokens < items[i].Tokens:
			cuts[i] = &cut
		}
	}
	return nil
}

func size(items []Item, unit []int) int {
	sum := 0
	for _, i := range unit {
		sum += items[i].Tokens
	}
	return sum
}

// cut returns what the style does with one item, or that it keeps it.
func (s Style) cut(it Item) (cut Cut, keep bool, err error) {
	switch s.Level {
	case Trivial:
		return Cut{Level: Trivial}, false, nil
	case Hybrid:
		cut, elide := s.Decide(it)
		if !elide {
			return Cut{}, true, nil
		}
		return cut, false, cut.validate(it)
	case Offloaded:
		cut = Cut{Level: Offloaded, StubTokens: s.StubTokens, ReloadRef: s.ReloadRef(it)}
		return cut, false, cut.validate(it)
	}
	return Cut{Level: s.Level, StubTokens: s.StubTokens}, false, nil
}

func (c Cut) validate(it Item) error {
	switch {
	case !c.Level.Valid() || c.Level == Hybrid:
		return &InvalidError{Field: "elision.level", Ref: it.ID, Problem: "got no level of its own"}
	case c.Level == Trivial && c.StubTokens != 0:
		return &InvalidError{Field: "elision.stub_tokens", Ref: it.ID, Problem: "is removed and has a stub"}
	case c.Level != Trivial && c.StubTokens <= 0:
		return &InvalidError{Field: "elision.stub_tokens", Ref: it.ID, Problem: "needs a stub of more than 0 tokens"}
	case c.Level == Offloaded && c.ReloadRef == "":
		return &InvalidError{Field: "elision.reload_ref", Ref: it.ID, Problem: "needs to say where to reload it from"}
	}
	return nil
}
