package record

import (
	"context"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/read"
)

// afterCause are the words for causes of cache breaks; others are without a known cause.
var afterCause = map[string]string{
	"idle": "after pauses", "model_switch": "after switches of the model", "system_change": "after changes of the system prompt",
	"tools_change": "after changes of the tools", "compaction": "after compactions", "elision": "after elisions",
	"pressure": "under pressure", "injection": "after removed injections",
}

// headline is one sentence about the costs of sessions: what cache breaks cost of the whole. It
// is "" for no sessions, and for sessions without model calls.
func headline(ctx context.Context, r read.Reader, tenant string, sessions []string) (string, error) {
	if len(sessions) == 0 {
		return "", nil
	}
	b, err := r.Bill(ctx, tenant, sessions)
	if err != nil {
		return "", err
	}
	return billSentence(b), nil
}

func billSentence(b read.Bill) string {
	switch {
	case b.Calls == 0:
		return ""
	case b.Unpriced == b.Calls:
		return "no price is known for these model calls: `ctxledger prices import FILE` adds prices"
	case len(b.Currencies) != 1:
		return "these model calls have prices in several currencies, which are not added up: " + strings.Join(b.Currencies, ", ")
	}
	total := money(b.Cost, b.Currencies[0])
	if b.Unpriced > 0 || b.Partial > 0 {
		total = "at least " + total
	}
	text := "these model calls cost " + total
	if share := money(b.BreakCost, b.Currencies[0]); share != money(0, b.Currencies[0]) {
		after := afterCause[b.Cause]
		if after == "" {
			after = "without a known cause"
		}
		text = fmt.Sprintf("cache breaks %s cost %s of %s", after, share, total)
	}
	text += ", by the " + strings.Join(b.Sources, " and the ")
	if b.Unpriced > 0 {
		text += fmt.Sprintf("; %d of %d calls have no price", b.Unpriced, b.Calls)
	}
	if b.Partial > 0 {
		text += fmt.Sprintf("; %d of %d calls lack a final count of tokens, and only what is known is priced", b.Partial, b.Calls)
	}
	return text
}

// money writes an amount with two decimals.
func money(amount float64, currency string) string {
	if currency == "USD" {
		return fmt.Sprintf("$%.2f", amount)
	}
	return fmt.Sprintf("%.2f %s", amount, currency)
}
