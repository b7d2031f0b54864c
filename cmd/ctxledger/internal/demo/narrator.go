package demo

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// narrator is a transport that describes each passing fact, because the agent prints nothing.
type narrator struct {
	publish.Transport
	say    func(string, ...any)
	shown  Shown // the window to show so far: the most layers, then the most tokens
	layers int
	tokens int64
	goals  bool // whether a line about goals in a summary was printed
}

// Send sends the messages, and describes them after they are accepted.
func (n *narrator) Send(ctx context.Context, messages ...schema.Message) error {
	if err := n.Transport.Send(ctx, messages...); err != nil {
		return err
	}
	for _, m := range messages {
		e, err := schema.ParseMessage(m.Header, m.Data)
		if err != nil {
			return err
		}
		fact, err := e.Decode()
		if err != nil {
			return err
		}
		n.tell(e, fact)
	}
	return nil
}

func (n *narrator) tell(e *schema.Event, fact schema.Fact) {
	indent := "        "
	if e.ParentRunID != "" {
		indent += "    " + e.RunID + "  "
	}
	say := func(format string, args ...any) { n.say(indent+format, args...) }
	switch f := fact.(type) {
	case *schema.ItemAdded:
		n.item(e, f, say)
	case *schema.ElisionApplied:
		planned, isPass := f.Metadata["planned"].(map[string]any)
		if !isPass {
			return // the fact of the ladder step describes these items
		}
		say("elided %s of earlier turns: %d tokens saved on each call, %v computed again once",
			items(len(f.ElidedItemRefs)), *f.TokensSaved, planned["recomputed_tokens"])
	case *schema.ElisionReloaded:
		if f.Trigger == "model_request" {
			say("restored %s, as the model asked", items(len(f.ElidedItemRefs)))
		}
	case *schema.CompactionCompleted:
		if len(f.GoalRefs) > 0 && !n.goals {
			n.goals = true
			say("a summary keeps %s", strings.Join(schema.RefIDs(f.GoalRefs), " and "))
		}
	case *schema.PressureApplied:
		if f.Outcome == schema.OutcomeSkipped || len(f.ItemRefs) == 0 {
			return
		}
		did := "removed"
		if f.Name == string(window.SummarizeMessages) {
			did = "summarised"
		}
		say("%s: %d tokens do not fit into %d: %s %s %s (%d left)",
			f.CallID, *f.TokensBefore, *f.LimitTokens, f.Name, did, items(len(f.ItemRefs)), *f.TokensAfter)
	case *schema.CompactionFailed, *schema.CompactionDiscarded:
		say("a compaction failed or was discarded")
	case *schema.ScratchpadLoaded:
		say("read from the scratchpad %s", strings.Join(f.ContextIDs, ", "))
	case *schema.ScratchpadWritten:
		say("wrote the answer to the scratchpad %s", strings.Join(f.ContextIDs, ", "))
	case *schema.InjectionApplied:
		if f.InjectionKind == window.PersonaKind && f.PersonaFrom != "" {
			say("the persona changes from %s to %s", f.PersonaFrom, f.PersonaTo)
		}
	case *schema.AssemblyCreated:
		if f.Target == string(schema.VisibleTool) {
			say("a tool was given %s of the window", items(len(f.SourceItemRefs)))
		}
	case *schema.MissingRequested:
		say("a gap: %s The %s is asked to %s.", f.UserSummary, f.RequestedFrom, f.RequestedAction)
	case *schema.GrantNarrowed:
		say("a child run with only the grant %s", strings.Join(f.Effective, ", "))
	case *schema.GrantDenied:
		say("a child run asked for %q and was denied", strings.Join(*f.Requested, ", "))
	case *schema.ResourceAccessed:
		if !f.Allowed {
			say("may not %s %s: no grant covers it", f.Operation, f.Path)
		}
	case *schema.BudgetApplied:
		layers, tokens := len(f.WindowSegments), *f.ActualTokens
		if cmp.Or(cmp.Compare(layers, n.layers), cmp.Compare(tokens, n.tokens)) > 0 {
			n.shown, n.layers, n.tokens = Shown{e.SessionID, e.TurnID, f.CallID}, layers, tokens
		}
	case *schema.EnvelopeCreated:
		facts := int64(0)
		for _, s := range f.Sequences {
			for _, r := range s.Ranges {
				facts += r[1] - r[0] + 1
			}
		}
		say("sealed with %d facts", facts)
	}
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprint(n, " items")
}

// item describes messages, and withheld content.
func (n *narrator) item(e *schema.Event, f *schema.ItemAdded, say func(string, ...any)) {
	switch {
	case f.Layer == "user" && e.ParentRunID == "":
		n.say("%s  %s", e.TurnID, f.Title)
		for _, part := range f.Parts {
			if part.PartKind != string(schema.PartText) {
				say("with an %s by reference: %s", part.PartKind, part.Ref.ID())
			}
		}
	case f.Layer == "user", f.Layer == "assistant":
		say("%s", f.Title)
	case f.OfferedBy != "":
		say("%s, offered to the model", f.Title)
	case f.RedactionState == schema.RedactionMasked:
		say("%s holds a %s: masked under %s before anything is recorded", f.Title, f.RedactionReason, f.PolicyRefs[0])
	}
}
