package answer

import (
	"cmp"
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
)

// Window reads the blocks of a window and the facts about its call. The arguments are those of
// the query window. found is false if no window is recorded.
func Window(ctx context.Context, l *ledger.Ledger, arguments map[string]string) (w windowview.Window, found bool, err error) {
	if arguments, err = named(ctx, "window", arguments); err != nil {
		return w, false, err
	}
	if l, err = Of(ctx, l, arguments["session_id"]); err != nil {
		return w, false, err
	}
	blocks, size, err := turn.Window(ctx, l, arguments)
	if err != nil || len(blocks) == 0 {
		return w, false, err
	}
	w = windowview.Window{
		Session: arguments["session_id"], Turn: arguments["turn_id"], Call: blocks[0].Call,
		Previous: blocks[0].PreviousCall, PreviousTurn: blocks[0].PreviousTurn,
	}
	for _, b := range blocks {
		w.Blocks = append(w.Blocks, blockOf(b))
	}
	if size != nil {
		addSize(&w, *size)
	}
	if w.Max == nil && w.Model != "" {
		if w.Max, w.MaxSource, err = read.Models(l).InputLimit(ctx, w.Model); err != nil {
			return w, false, err
		}
	}
	return windowview.WithTotals(w), true, nil
}

// Correct adds the corrected estimate of its call to a window. A call without one stays as it is. The
// estimates of the blocks never change. An empty tenant means all tenants.
func Correct(ctx context.Context, l *ledger.Ledger, tenant string, w *windowview.Window) error {
	if w.Call == "" || w.Billed == nil {
		return nil
	}
	rows, err := Ask(ctx, l, "corrected-windows", map[string]string{"tenant": tenant, "session_id": w.Session, "turn_id": w.Turn, "call_id": w.Call})
	if err != nil || len(rows) != 1 { // two attempts or tenants may have a call of the same id
		return err
	}
	w.Corrected, w.CorrectedError, w.CorrectedBy = rows[0].Number("corrected_tokens"), rows[0].Float("corrected_error"), rows[0].Text("neighbour_call_id")
	return nil
}

func blockOf(b turn.Block) windowview.Block {
	return windowview.Block{
		Position: b.Position, Layer: b.Layer, Role: b.Role, Title: b.Title, Tokens: b.Tokens, Full: b.Full,
		Elided: b.Elided, ElidedBy: b.ElidedBy, Level: b.ElidedLevel, Stub: b.Reload, Redaction: b.RedactionState,
		New: b.New, Items: b.Items, Name: cmp.Or(b.Name, b.Block), Digest: b.Digest, Origin: b.Origin, Injected: b.Injected, Target: b.Target, Persona: b.Persona,
		Assembly: b.Assembly, Block: b.Block,
	}
}

// addSize adds the facts about the call and its items to a window.
func addSize(w *windowview.Window, s turn.Size) {
	w.Model, w.Max, w.Reserved, w.Billed, w.CacheRead = s.Model, s.Max, s.Reserved, s.Billed, s.CacheRead
	w.OmittedItems, w.OmittedTokens, w.OmittedUnknown = int64(s.Omitted), s.OmittedTokens, int64(s.OmittedUnknown)
	for i, reason := range s.OmissionReasons {
		w.OmissionReasons = append(w.OmissionReasons, windowview.Omitted{Reason: reason, Items: int64(s.OmittedBy[i])})
	}
	for i := range w.Blocks {
		b := &w.Blocks[i]
		for _, item := range b.Items {
			if j := slices.Index(s.Shortened, item); j >= 0 {
				b.Shortened = cmp.Or(s.ShortenedHow[j], "to fit")
				if !b.Elided && s.ShortenedBefore[j] != nil {
					b.Full = s.ShortenedBefore[j]
				}
			}
			if j := slices.Index(s.Redacted, item); j >= 0 && b.Redaction != "" && b.Redaction != "none" {
				b.Policies, b.StandIn = s.RedactedPolicies[j], s.RedactedStandIn[j]
			}
		}
	}
}
