package schema

import (
	"slices"
	"strconv"
)

// checkRules checks the boundary rules that need the meaning of a fact.
func checkRules(fact Fact) Violations {
	switch f := fact.(type) {
	case *SelectionCompleted:
		return checkSelection(f)
	case *RedactionApplied:
		return checkPolicy(f.Common, "name the policy that demanded the redaction")
	case *RedactionRevoked:
		return checkPolicy(f.Common, "name the policy that allows to take the redaction back")
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
			if b.Content != "" {
				found = append(found, checkWithheld(b.Content, b.RedactionState, element("/data/ordered_blocks", i)+"/content")...)
			}
		}
		return found
	case *MissingDetected:
		return checkMissing(&f.Missing)
	case *MissingRequested:
		return checkMissing(&f.Missing)
	case *SummaryCreated:
		return checkSummary(&f.Summary)
	case *SummaryRefreshed:
		return checkSummary(&f.Summary)
	case *ItemAdded:
		return checkItem(&f.Item)
	case *ItemUpdated:
		return checkItem(&f.Item)
	case *PressureApplied:
		return checkStep(f)
	case *EnvelopeCreated:
		return checkRanges(f.Sequences)
	case *FactsDropped:
		return checkRanges(f.Sequences)
	}
	return nil
}

// checkSourceWindow checks rule 3: a compaction names the replaced items.
func checkSourceWindow(c *Compaction) Violations {
	if len(c.SourceItemRefs) > 0 || c.SourceWindow != nil && *c.SourceWindow != (SourceWindow{}) {
		return nil
	}
	return Violations{{CodeNoSourceWindow, "/data/source_item_refs", "neither source_item_refs nor source_window",
		"refer to the items, or to the range of the log, that the summary covers"}}
}

// checkSummary checks rule 3 for a summary.
func checkSummary(s *Summary) Violations {
	if len(s.SourceItemRefs) > 0 || s.CoversThroughPosition != nil {
		return nil
	}
	return Violations{{CodeNoSourceWindow, "/data/source_item_refs", "neither source_item_refs nor covers_through_position",
		"refer to the items that the summary covers, or to its last position in the log"}}
}

// checkSelection checks rule 4. Every candidate is either selected or omitted, and each omission
// has a reason. A part of a split selection is exempt from the sum, because only the whole
// selection contains all candidates.
func checkSelection(s *SelectionCompleted) (found Violations) {
	refuse := func(code Code, pointer, what, fix string) {
		found = append(found, &Violation{code, pointer, what, fix})
	}
	fate := make(map[string]string, len(s.Selected)+len(s.Omitted))
	place := func(list []Candidate, pointer, as string) {
		for i, c := range list {
			id := c.ItemRef.ID()
			switch {
			case id == "":
				refuse(CodeRequired, element(pointer, i)+"/item_ref", "nothing", "name the item")
			case fate[id] != "":
				refuse(CodeNotConserved, element(pointer, i), quote(id)+" is "+fate[id]+" and "+as, "give each candidate one outcome")
			default:
				fate[id] = as
			}
		}
	}
	place(s.Selected, "/data/selected_item_refs", "selected")
	place(s.Omitted, "/data/omitted_item_refs", "omitted")
	for i, c := range s.Omitted {
		if c.Reason == "" {
			refuse(CodeNoReason, element("/data/omitted_item_refs", i)+"/reason", "nothing",
				"say why "+quote(c.ItemRef.ID())+" was left out, such as budget_limit or low_relevance")
		}
	}
	if (s.Part == nil) != (s.Parts == nil) || s.Part != nil && (*s.Part < 1 || *s.Part > *s.Parts) {
		refuse(CodeRange, "/data/part", "a part that is not one of parts", "number the parts from 1 to parts, and send both")
	}
	if s.Parts != nil && *s.Parts > 1 || len(s.Candidates) == 0 {
		return found
	}
	const list = "/data/candidate_item_refs"
	candidate := make(map[string]bool, len(s.Candidates))
	for i, c := range s.Candidates {
		id := c.ID()
		switch {
		case candidate[id]:
			refuse(CodeNotConserved, element(list, i), quote(id)+" is a candidate twice", "list each candidate once")
		case fate[id] == "":
			refuse(CodeNotConserved, element(list, i), quote(id)+" is neither selected nor omitted", "give each candidate one outcome")
		}
		candidate[id] = true
	}
	missing := func(list []Candidate, pointer, as string) {
		for i, c := range list {
			if id := c.ItemRef.ID(); id != "" && !candidate[id] {
				refuse(CodeNotConserved, element(pointer, i), quote(id)+" is "+as+" but was no candidate", "list every candidate")
			}
		}
	}
	missing(s.Selected, "/data/selected_item_refs", "selected")
	missing(s.Omitted, "/data/omitted_item_refs", "omitted")
	return found
}

// element returns the pointer to an element of a list. Only violations need it, because making a
// pointer costs more than a check.
func element(list string, i int) string { return list + "/" + strconv.Itoa(i) }

func quote(id string) string { return strconv.Quote(Clip(id)) }

// checkPolicy checks rule 5: a redaction, and its revocation, name a policy.
func checkPolicy(c Common, fix string) Violations {
	if len(c.PolicyRefs) > 0 {
		return nil
	}
	return Violations{{CodeNoPolicy, "/data/policy_refs", "nothing", fix}}
}

// checkWithheld checks rule 5: content of a removed or blocked item stays out.
func checkWithheld(content string, state RedactionState, pointer string) Violations {
	if content == "" || state != RedactionRemoved && state != RedactionPolicyBlocked {
		return nil
	}
	return Violations{{CodeWithheld, pointer, "content of an item that is " + string(state), "send the block without content"}}
}

// checkItem checks rule 5 for the content of an item.
func checkItem(i *Item) Violations {
	content := ""
	if i.Content != nil {
		content = "any"
	}
	return append(checkWithheld(content, i.RedactionState, "/data/content"), checkParts(i.Parts)...)
}

// checkParts checks that parts of content are references. The ledger stores no images and no
// files.
func checkParts(parts []Part) (found Violations) {
	refuse := func(i int, code Code, field, what, fix string) {
		found = append(found, &Violation{code, element("/data/parts", i) + field, what, fix})
	}
	for i, p := range parts {
		switch {
		case p.Content != nil:
			refuse(i, CodeInline, "/content", "content in a part", "leave it out and refer to it in ref")
		case p.Ref.inline():
			refuse(i, CodeInline, "/ref", "a data URI", "store the content elsewhere and refer to it")
		case p.PartKind == "":
			refuse(i, CodeRequired, "/part_kind", "nothing", "name the kind of the part, such as image or file")
		case p.Ref == "" && (p.PartKind != string(PartText) || p.Digest == "" && p.ByteSize == nil):
			refuse(i, CodeRequired, "/ref", "nothing", "refer to the content; a text may have a digest or a size instead")
		}
	}
	return found
}

// checkStep checks that a pressure step is one of the five rungs of seed 000.
func checkStep(p *PressureApplied) Violations {
	if p.Step == nil || *p.Step >= 1 && *p.Step <= 5 {
		return nil
	}
	return Violations{{CodeRange, "/data/step", strconv.FormatInt(*p.Step, 10), "the ladder has steps 1 to 5"}}
}

// checkRanges checks that the sequences of a scope are closed ranges in order.
func checkRanges(list []SequenceRanges) (found Violations) {
	for i, s := range list {
		next := int64(0)
		for j, r := range s.Ranges {
			if r[0] < next || r[1] < r[0] {
				found = append(found, &Violation{CodeRange, "/data/sequences/" + strconv.Itoa(i) + "/ranges/" + strconv.Itoa(j),
					"a range that is reversed, negative, or not after the one before it", "send closed ranges [first, last] in order, without overlap"})
				break
			}
			next = r[1] + 1
		}
	}
	return found
}

// checkMissing checks the members that make a gap answerable: question, owner, action and user
// summary.
func checkMissing(m *Missing) (found Violations) {
	need := func(value, name, what string) {
		if value == "" {
			found = append(found, &Violation{CodeRequired, "/data/" + name, "nothing", "give " + what})
		}
	}
	need(m.Question, "question", "the missing information as a question")
	need(string(m.RequestedFrom), "requested_from", "the owner of the missing information")
	need(m.RequestedAction, "requested_action", "the action that the owner should take")
	need(m.UserSummary, "user_summary", "a summary that is safe to show to the user")
	return found
}

// CheckKnown adds the violations of the rules for [Known] and for bases of assemblies. A ledger has
// these rules from a position of its stream on, by ledger.KnownRules. A place with a violation gets
// no second one. The rules are:
//
//   - fidelity and coverage have a word of their vocabulary
//   - coverage_reasons are present if and only if coverage is partial
//   - base_assembly_id and keep are present together, and no assembly is its own base
func CheckKnown(fact Fact, found Violations) Violations {
	add := func(code Code, pointer, what, fix string) {
		if !slices.ContainsFunc(found, func(o *Violation) bool { return o.Pointer == pointer }) {
			found = append(found, &Violation{code, pointer, what, fix})
		}
	}
	f, ok := fact.(interface{ known() *Known })
	if !ok {
		return found
	}
	k := f.known()
	if k.Fidelity != "" && !slices.Contains(fidelities, k.Fidelity) {
		add(CodeRange, "/data/fidelity", quote(string(k.Fidelity)), "use wire, serialized, stated, reported or reconstructed, or leave it out")
	}
	switch k.Coverage {
	case "", CoverageComplete:
		if len(k.CoverageReasons) > 0 {
			add(CodeRange, "/data/coverage_reasons", "reasons without coverage partial", "set coverage to partial, or leave the reasons out")
		}
	case CoveragePartial:
		if len(k.CoverageReasons) == 0 || slices.Contains(k.CoverageReasons, "") {
			add(CodeRequired, "/data/coverage_reasons", "nothing", "say why the coverage is partial, such as entries_missing")
		}
	default:
		add(CodeRange, "/data/coverage", quote(string(k.Coverage)), "use complete or partial, or leave it out")
	}
	if a, ok := fact.(*AssemblyCreated); ok {
		switch {
		case a.BaseAssemblyID == "" && a.Keep != nil:
			add(CodeRequired, "/data/base_assembly_id", "nothing", "name the assembly whose first blocks are kept, or leave keep out")
		case a.BaseAssemblyID != "" && a.Keep == nil:
			add(CodeRequired, "/data/keep", "nothing", "send the number of blocks of the base that begin this window")
		case a.BaseAssemblyID != "" && a.BaseAssemblyID == a.AssemblyID:
			add(CodeOwnSource, "/data/base_assembly_id", ownViolation("").Found, ownViolation("").Fix)
		}
	}
	return found
}
