package schema

import "strconv"

// checkRules holds the boundary rules that need the meaning of a fact, by
// their number in the contract's list.
func checkRules(fact Fact) Violations {
	switch f := fact.(type) {
	case *SelectionCompleted:
		return checkSelection(f)
	case *RedactionApplied:
		return checkRedaction(f)
	case *CompactionStarted:
		return checkSourceWindow(&f.Compaction)
	case *CompactionCompleted:
		return checkSourceWindow(&f.Compaction)
	case *CompactionFailed:
		return checkSourceWindow(&f.Compaction)
	case *CompactionDiscarded:
		return checkSourceWindow(&f.Compaction)
	case *InjectionApplied:
		return checkWithheld(f.Content, f.RedactionState, "/data/content")
	case *AssemblyCreated:
		var found Violations
		for i, b := range f.OrderedBlocks {
			found = append(found, checkWithheld(b.Content, b.RedactionState, "/data/ordered_blocks/"+strconv.Itoa(i)+"/content")...)
		}
		return found
	case *MissingDetected:
		return checkMissing(&f.Missing)
	case *MissingRequested:
		return checkMissing(&f.Missing)
	}
	return nil
}

// checkSourceWindow is rule 3: a compaction says what it replaces.
func checkSourceWindow(c *Compaction) Violations {
	if len(c.SourceItemRefs) > 0 || c.SourceWindow != nil {
		return nil
	}
	return Violations{{CodeNoSourceWindow, "/data/source_item_refs", "neither source_item_refs nor source_window",
		"refer to the items, or to the stretch of the log, that the summary stands for"}}
}

// checkSelection is rule 4: every candidate is selected or omitted, not both,
// and each omission has a reason. A part of a split selection is exempt from
// the sum, which only the whole can meet.
func checkSelection(s *SelectionCompleted) (found Violations) {
	fate := make(map[string]string, len(s.Candidates))
	place := func(list []Candidate, pointer, as string) {
		for i, c := range list {
			id, at := c.ItemRef.ID(), pointer+"/"+strconv.Itoa(i)
			switch {
			case id == "":
				found = append(found, &Violation{CodeRequired, at + "/item_ref", "nothing", "name the item"})
			case fate[id] != "":
				found = append(found, &Violation{CodeNotConserved, at, strconv.Quote(id) + " is " + fate[id] + " and " + as, "give each candidate one outcome"})
			default:
				fate[id] = as
			}
		}
	}
	place(s.Selected, "/data/selected_item_refs", "selected")
	place(s.Omitted, "/data/omitted_item_refs", "omitted")
	for i, c := range s.Omitted {
		if c.Reason == "" {
			found = append(found, &Violation{CodeNoReason, "/data/omitted_item_refs/" + strconv.Itoa(i) + "/reason", "nothing",
				"say why " + strconv.Quote(c.ItemRef.ID()) + " was left out, such as budget_limit or low_relevance"})
		}
	}
	if s.Parts != nil && *s.Parts > 1 {
		return found
	}
	for i, c := range s.Candidates {
		if fate[c.ID()] == "" {
			found = append(found, &Violation{CodeNotConserved, "/data/candidate_item_refs/" + strconv.Itoa(i), strconv.Quote(c.ID()) + " is neither selected nor omitted", "give each candidate one outcome"})
		}
		delete(fate, c.ID())
	}
	if len(s.Candidates) > 0 {
		for id, as := range fate {
			found = append(found, &Violation{CodeNotConserved, "/data/candidate_item_refs", strconv.Quote(id) + " is " + as + " but was no candidate", "list every candidate"})
		}
	}
	return found
}

// checkRedaction is rule 5: a redaction names its policy.
func checkRedaction(r *RedactionApplied) Violations {
	if len(r.PolicyRefs) > 0 {
		return nil
	}
	return Violations{{CodeNoPolicy, "/data/policy_refs", "nothing", "name the policy that demanded the redaction"}}
}

// checkWithheld is rule 5: content of a removed or blocked item is not put
// back.
func checkWithheld(content string, state RedactionState, pointer string) Violations {
	if content == "" || state != RedactionRemoved && state != RedactionPolicyBlocked {
		return nil
	}
	return Violations{{CodeWithheld, pointer, "content of an item that is " + string(state), "send the block without content"}}
}

// checkMissing holds what makes a gap answerable: an owner, an action and a
// summary that is safe to show.
func checkMissing(m *Missing) (found Violations) {
	need := func(value, name, what string) {
		if value == "" {
			found = append(found, &Violation{CodeRequired, "/data/" + name, "nothing", "say " + what})
		}
	}
	need(m.Question, "question", "what is missing")
	need(string(m.RequestedFrom), "requested_from", "who could supply it")
	need(m.RequestedAction, "requested_action", "what they should do")
	need(m.UserSummary, "user_summary", "what may be shown to the user")
	return found
}
