package producer

import (
	"context"
	"slices"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ScratchpadEntry is a text of the scratchpad with one legacy context id (seed 002). The
// text is counted and digested, and stays in the process.
type ScratchpadEntry struct {
	ContextID string
	Text      string
}

// LayerScratchpad is the layer of scratchpad items in the window.
const LayerScratchpad = "scratchpad"

// LoadScratchpad records the entries that entered the prompt, in order, each as an item of
// [LayerScratchpad]. An empty list is recorded too. LoadScratchpad returns the items, which
// belong among the items of the turn's calls. A plan never omits them, unless the caller
// changes their kind.
//
// Scratchpads do not limit access, and loading one grants nothing. Withheld text is counted
// and digested in its masked form and recorded as a redaction of the item. Errors are
// errors of [Client.Record]. With an error nothing is recorded.
func (t *Turn) LoadScratchpad(ctx context.Context, entries ...ScratchpadEntry) ([]window.Item, error) {
	id, err := newScratchpadID()
	if err != nil {
		return nil, err
	}
	list, items := make([]noted, len(entries)), make([]window.Item, len(entries))
	arrivals := make([]arrival, len(entries))
	for i, e := range entries {
		a, err := t.run.arrive(t.model.Name, Content{
			ID: id + ":" + strconv.Itoa(i+1), Title: "scratchpad " + e.ContextID, ContextKind: string(schema.KindMemory), Layer: LayerScratchpad, Kind: window.KindFixed,
			Role: window.RoleSystem, Text: e.Text,
		})
		if err != nil {
			return nil, err
		}
		arrivals[i], items[i] = a, a.item
		list[i] = noted{contextID: e.ContextID, digest: a.item.Digest, tokens: int64(a.item.Tokens), item: a.item.ID}
	}
	loaded := scratchpadFacts(id, list, func(s schema.Scratchpad, metadata map[string]any) schema.Fact {
		return &schema.ScratchpadLoaded{Common: schema.Common{Metadata: metadata}, Scratchpad: s}
	})
	if err := t.enter(ctx, arrivals, loaded...); err != nil {
		return nil, err
	}
	return items, nil
}

// WriteScratchpad records the texts that were written back to scratchpads, one entry per
// context id. The texts are counted, digested and masked as in [Turn.LoadScratchpad]. The
// error is an [*InvalidError] if the run's ContextWrite is false, or an error of
// [Client.Record].
func (t *Turn) WriteScratchpad(ctx context.Context, entries ...ScratchpadEntry) error {
	if allowed := t.run.contextWrite; allowed != nil && !*allowed {
		return invalid("context write", "is off for the run: its output goes to no scratchpad")
	}
	id, err := newScratchpadID()
	if err != nil {
		return err
	}
	list, made := t.noteEntries(id, entries)
	return t.Record(ctx, append(made, scratchpadFacts(id, list, func(s schema.Scratchpad, metadata map[string]any) schema.Fact {
		return &schema.ScratchpadWritten{Common: schema.Common{Metadata: metadata}, Scratchpad: s}
	})...)...)
}

func newScratchpadID() (string, error) {
	id, err := orNewID("")
	return "scratchpad:" + id, err
}

// noted is the recorded form of an entry.
type noted struct {
	contextID, digest string
	tokens            int64
	item              string // id of the entry in the window; empty outside of a window
}

func (n noted) bytes() int {
	return facts.TextBytes(n.contextID) + facts.TextBytes(n.digest) + facts.TextBytes(n.item)
}

// scratchpadFacts returns the facts of the entries: one fact, or several parts of one fact.
func scratchpadFacts(id string, list []noted, fact func(schema.Scratchpad, map[string]any) schema.Fact) (made []schema.Fact) {
	chunks := facts.Chunk(list, facts.MaxPartBytes, noted.bytes)
	for i, part := range chunks {
		made = append(made, fact(scratchpadOf(id, part), facts.PartOf(i, len(chunks))))
	}
	return made
}

// noteEntries counts and digests the entries. noteEntries also returns the guard's
// redactions, one for each policy.
func (t *Turn) noteEntries(id string, entries []ScratchpadEntry) (list []noted, redactions []schema.Fact) {
	client, all := t.run.client, []redact.Hit(nil)
	for _, e := range entries {
		text, hits := client.withheld.guard().Mask(e.Text)
		tokens := client.config.Counter.Count(t.model.Name, text).Tokens
		list = append(list, noted{contextID: e.ContextID, digest: client.config.Key.Digest([]byte(text)), tokens: int64(tokens)})
		all = append(all, hits...)
	}
	for _, hits := range byPolicy(all) {
		for _, redaction := range redaction(client.Source(), id, typedRef("scratchpad", id), hits, []string{"text"}) {
			redactions = append(redactions, redaction)
		}
	}
	return list, redactions
}

// scratchpadOf returns each context id once, in order, and one digest for each entry.
func scratchpadOf(id string, list []noted) schema.Scratchpad {
	s := schema.Scratchpad{ScratchpadID: id, EntryCount: new(int64(len(list))), Tokens: new(int64)}
	for _, n := range list {
		if !slices.Contains(s.ContextIDs, n.contextID) {
			s.ContextIDs = append(s.ContextIDs, n.contextID)
		}
		if n.digest != "" {
			s.Digests = append(s.Digests, n.digest)
		}
		if n.item != "" {
			s.ItemRefs = append(s.ItemRefs, schema.Ref(n.item))
		}
		*s.Tokens += n.tokens
	}
	return s
}
