package window

func (s Style) validate() error {
	switch {
	case !s.Level.Valid():
		return &InvalidError{Field: "elision.level", Ref: string(s.Level), Problem: "is not one of the five levels"}
	case s.Level == Hybrid && s.Decide == nil && s.Weigh == nil:
		return &InvalidError{Field: "elision.decide", Problem: "or weigh is needed for the hybrid level"}
	case s.Level == Hybrid && s.Decide != nil && s.Weigh != nil:
		return &InvalidError{Field: "elision.decide", Problem: "and weigh are both given; give only one"}
	case s.Level == Offloaded && s.ReloadRef == nil:
		return &InvalidError{Field: "elision.reload_ref", Problem: "is needed for the offloaded level"}
	case s.Level != Trivial && s.Level != Hybrid && s.StubTokens <= 0:
		return &InvalidError{Field: "elision.stub_tokens", Problem: "must be more than 0, because a stub is a text"}
	}
	return nil
}

// cuts returns the cut of each item, or nil if the item stays. A call and its results are
// treated as one unit.
func (s Style) cuts(items []Item, chosen []bool) ([]*Cut, error) {
	cuts := make([]*Cut, len(items))
	if s.Level == Hybrid && s.Weigh != nil {
		s.Decide = weighed(items, s.Weigh)
	}
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
		// A call may be cut with its results. Any other item is cut only if it is chosen.
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
				cuts[j] = &Cut{Level: cut.Level, ReloadRef: cut.ReloadRef, Reason: cut.Reason}
				if k == 0 {
					cuts[j].StubTokens, cuts[j].Note, cuts[j].StubDigest = cut.StubTokens, cut.Note, cut.StubDigest
				}
			}
			return nil
		case len(unit) > 1 && (cut.Level == Trivial || items[i].Kind == KindToolCall):
			// The item stays, so no call loses its result and no result its call.
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

// cut returns the style's cut of one item, or keep.
func (s Style) cut(it Item) (cut Cut, keep bool, err error) {
	switch s.Level {
	case Trivial:
		return Cut{Level: Trivial}, false, nil
	case Hybrid:
		cut, elide := s.Decide(it)
		if !elide {
			return Cut{}, true, nil
		}
		if s.Weigh != nil && cut.Reason == "" {
			return Cut{}, false, &InvalidError{Field: "elision.reason", Ref: it.ID, Problem: "must give the reason for eliding this item"}
		}
		return cut, false, cut.validate(it)
	case Offloaded:
		cut = Cut{Level: Offloaded, StubTokens: s.StubTokens, ReloadRef: s.ReloadRef(it)}
		return cut, false, cut.validate(it)
	}
	cut = Cut{Level: s.Level, StubTokens: s.StubTokens}
	if s.Level == Summarized && s.Note != nil {
		cut.Note = s.Note(it)
	}
	return cut, false, cut.validate(it)
}

// weighed converts a decision by place into a decision by item.
func weighed(items []Item, weigh func(Standing) (Cut, bool)) func(Item) (Cut, bool) {
	standings := make(map[string]Standing, len(items))
	total, users := 0, 0
	for i, it := range items {
		standings[it.ID] = Standing{Item: it, Index: i, Ahead: total, Age: users}
		total += it.Tokens
		if it.userMessage() {
			users++
		}
	}
	return func(it Item) (Cut, bool) {
		s := standings[it.ID]
		s.After, s.Age = total-s.Ahead-it.Tokens, users-s.Age
		if it.userMessage() {
			s.Age-- // without the item itself
		}
		return weigh(s)
	}
}

func (c Cut) validate(it Item) error {
	switch {
	case !c.Level.Valid() || c.Level == Hybrid:
		return &InvalidError{Field: "elision.level", Ref: it.ID, Problem: "must be a level other than hybrid for each item"}
	case len(c.Note) > MaxNote || len(c.Reason) > MaxNote:
		return &InvalidError{Field: "elision.note", Ref: it.ID, Problem: "or reason is longer than 1024 bytes; give one sentence"}
	case c.Level == Trivial && (c.Note != "" || c.StubDigest != ""):
		return &InvalidError{Field: "elision.note", Ref: it.ID, Problem: "must be empty, because the item is removed and has no stub"}
	case c.Level == Trivial && c.StubTokens != 0:
		return &InvalidError{Field: "elision.stub_tokens", Ref: it.ID, Problem: "must be 0, because the item is removed and has no stub"}
	case c.Level != Trivial && c.StubTokens <= 0:
		return &InvalidError{Field: "elision.stub_tokens", Ref: it.ID, Problem: "must be more than 0"}
	case c.Level == Offloaded && c.ReloadRef == "":
		return &InvalidError{Field: "elision.reload_ref", Ref: it.ID, Problem: "must name the place to reload the item from"}
	}
	return nil
}
