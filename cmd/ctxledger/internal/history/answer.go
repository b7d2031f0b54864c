package history

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/schema"
)

// because describes each omission reason.
var because = map[schema.OmissionReason]string{
	schema.OmitBudgetLimit:         "the budget had no room for it",
	schema.OmitLowRelevance:        "it was not relevant enough",
	schema.OmitDuplicate:           "it repeats another item",
	schema.OmitStale:               "it was out of date",
	schema.OmitPolicyBlocked:       "a policy forbids it",
	schema.OmitPermissionMissing:   "the run has no permission for it",
	schema.OmitUnsupportedMedia:    "the model cannot read its kind",
	schema.OmitTooLarge:            "it is too large",
	schema.OmitSensitive:           "it is sensitive",
	schema.OmitNotVisibleToTarget:  "it is not visible to the target",
	schema.OmitSupersededBySummary: "a summary replaces it",
}

// Reply describes in one sentence the result for the item in the turn, or in the call, of the
// question. A second sentence names a gap that the item could fill. Numbers are written by write.
func (w Item) Reply(write ui.Numbers) string {
	text := w.fate(write)
	if gap := w.missed(); gap != "" {
		text += " " + gap
	}
	return text
}

func (w Item) fate(write ui.Numbers) string {
	sight := w.last("injected", "seen")
	omitted := w.last("omitted")
	switch {
	case sight >= 0 && omitted > sight:
		return w.saw(sight, write) + fmt.Sprintf(", but %s left it out because %s.", w.Steps[omitted].of(), w.Steps[omitted].cause())
	case sight >= 0:
		return w.saw(sight, write) + "."
	case omitted >= 0:
		return w.leftOut(omitted)
	}
	if i := w.last("assembled"); i >= 0 {
		return fmt.Sprintf("%s was assembled for %s as part of %s, but no record shows that the model saw it.", w.Item, w.Steps[i].of(), w.Steps[i].Record)
	}
	if i := w.last("selected"); i >= 0 {
		return fmt.Sprintf("%s was selected for %s by %s, but no assembly holds it, and no record shows that the model saw it.", w.Item, w.Steps[i].of(), w.Steps[i].Record)
	}
	return w.absent()
}

// saw names the last call in which the model saw the item, and the item's shape.
func (w Item) saw(at int, write ui.Numbers) string {
	s := w.Steps[at]
	calls := make(map[string]bool)
	for _, other := range w.Steps {
		if w.asked(other) && isSight(other) {
			calls[other.Call] = true
		}
	}
	text := fmt.Sprintf("The model saw %s in ", w.Item)
	if len(calls) > 1 {
		text += fmt.Sprintf("%s of %s, last in ", write.Plural(int64(len(calls)), "call"), w.where())
	}
	text += s.of()
	if s.Position != nil {
		text += fmt.Sprintf(" at position %d", *s.Position)
		if s.Step == "seen" {
			text += " of the item log"
		}
	}
	return text + w.shape(at, write)
}

// shape describes how much of the item was in the window.
func (w Item) shape(at int, write ui.Numbers) string {
	var parts []string
	if s := w.before(at, "elided", "reloaded"); s != nil && s.Step == "elided" {
		part := fmt.Sprintf("only as a stub (%s), %s → %s tokens, because %s elided it", cmp.Or(s.Note, "level not recorded"), write.Known(s.Before), write.Known(s.After), s.Record)
		if s.StandIn != "" {
			part += "; it can be read again from " + s.StandIn
		}
		parts = append(parts, part)
	}
	if s := w.before(at, "shortened"); s != nil && s.Call == w.Steps[at].Call {
		parts = append(parts, fmt.Sprintf("cut from %s to %s tokens to fit the budget", write.Known(s.Before), write.Known(s.After)))
	}
	if s := w.before(at, "redacted"); s != nil {
		parts = append(parts, fmt.Sprintf("redacted (%s) under %s because of %q", s.Note, cmp.Or(s.Policy, "a policy that is not named"), s.Reason))
	}
	if len(parts) == 0 {
		if s := w.before(at, "assembled"); s != nil && s.Call == w.Steps[at].Call && s.After != nil {
			return fmt.Sprintf(", unchanged (%s)", write.Plural(*s.After, "token"))
		}
		return ", unchanged"
	}
	return ", " + strings.Join(parts, ", and ")
}

func (w Item) leftOut(at int) string {
	s := w.Steps[at]
	text := fmt.Sprintf("The model did not see %s in %s: %s left it out because %s", w.Item, w.where(), s.of(), s.cause())
	if s.Policy != "" {
		text += ", as the policy " + s.Policy + " decided"
	}
	if c := w.before(at, "compacted"); c != nil && s.Reason == string(schema.OmitSupersededBySummary) && c.StandIn != "" {
		text += "; the summary is " + c.StandIn + ", made by " + c.Record
	}
	return text + "."
}

// absent answers for a turn in which no call decided about the item.
func (w Item) absent() string {
	first, end := -1, len(w.Steps)
	for i, s := range w.Steps {
		if w.asked(s) {
			if first < 0 {
				first = i
			}
			end = i + 1
		}
	}
	if first < 0 {
		end = w.later()
	}
	if c := w.before(end, "compacted", "removed"); c != nil {
		if c.Step == "removed" {
			return fmt.Sprintf("The model did not see %s in %s: it was removed in %s.", w.Item, w.where(), c.time())
		}
		return fmt.Sprintf("The model did not see %s itself in %s: %s replaced it by the summary %s in %s.", w.Item, w.where(), c.Record, cmp.Or(c.StandIn, "(not named)"), c.time())
	}
	if i := w.last("available", "considered"); i >= 0 {
		return fmt.Sprintf("%s was %s in %s, but no recorded selection decided about it, and no window holds it.", w.Item, w.Steps[i].Step, w.where())
	}
	if first >= 0 {
		return fmt.Sprintf("No window of %s holds %s, and no record gives the reason: it was only %s there.", w.where(), w.Item, w.Steps[first].Step)
	}
	if len(w.Steps) > 0 && end == 0 {
		return fmt.Sprintf("%s does not involve %s, which first appears later, in %s.", upper(w.where()), w.Item, w.Steps[0].time())
	}
	if s := w.before(end, "injected", "seen"); s != nil {
		return fmt.Sprintf("%s does not involve %s, which the model saw last in %s of %s.", upper(w.where()), w.Item, s.of(), s.time())
	}
	return fmt.Sprintf("%s does not involve %s, and no earlier window holds it.", upper(w.where()), w.Item)
}

// later returns the index of the first step that happened after the turn.
func (w Item) later() int {
	for i, s := range w.Steps {
		if s.Happened.After(w.Ended) {
			return i
		}
	}
	return len(w.Steps)
}

// missed names the gap that the item could fill, if there is one.
func (w Item) missed() string {
	s := w.before(len(w.Steps), "missing detected", "missing requested", "missing resolved")
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("It was named to fill the gap %s", s.Record)
	if s.Note != "" {
		text += fmt.Sprintf(" (%q)", s.Note)
	}
	text += ", which is " + cmp.Or(s.Reason, "of unknown state")
	if s.StandIn != "" {
		text += " with " + s.StandIn
	}
	return text + "."
}

func (w Item) where() string {
	if w.Call != "" {
		return fmt.Sprintf("call %s of turn %s", w.Call, w.Turn)
	}
	return "turn " + w.Turn
}

// of returns the call of a step.
func (s Step) of() string {
	if s.Call == "" {
		return "an unnamed call"
	}
	return "call " + s.Call
}

// time returns the turn of a step.
func (s Step) time() string {
	if s.Turn == "" {
		return "no turn"
	}
	return "turn " + s.Turn
}

// cause returns the reason why a candidate was left out.
func (s Step) cause() string {
	text, known := because[schema.OmissionReason(s.Reason)]
	switch {
	case !known:
		text = "of " + cmp.Or(s.Reason, "a reason that is not recorded")
	default:
		text += " (" + s.Reason + ")"
	}
	if s.Note != "" {
		text += ": " + s.Note
	}
	return text
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
