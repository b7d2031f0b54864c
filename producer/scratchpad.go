package producer

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

// ScratchpadEntry is a text of the scratchpad that one legacy context id names
// (seed 002). The text is counted and digested, and stays in the process.
type ScratchpadEntry struct {
	ContextID string
	Text      string
}

// LoadScratchpad records the entries that entered the prompt, in order; none is
// a fact, too. Scratchpads are no boundary of access, and loading one grants
// nothing. What the guard withholds is counted and digested as masked, and is a
// redaction. Errors are those of [Client.Record]; with one, nothing is recorded.
func (t *Turn) LoadScratchpad(ctx context.Context, entries ...ScratchpadEntry) error {
	return t.scratchpad(ctx, entries, func(s schema.Scratchpad, metadata map[string]any) schema.Fact {
		return &schema.ScratchpadLoaded{Common: schema.Common{Metadata: metadata}, Scratchpad: s}
	})
}

// WriteScratchpad records what was written back to scratchpads, one entry a
// context id that it went to. See [Turn.LoadScratchpad].
func (t *Turn) WriteScratchpad(ctx context.Context, entries ...ScratchpadEntry) error {
	return t.scratchpad(ctx, entries, func(s schema.Scratchpad, metadata map[string]any) schema.Fact {
		return &schema.ScratchpadWritten{Common: schema.Common{Metadata: metadata}, Scratchpad: s}
	})
}

// noted is what facts say of an entry.
type noted struct {
	contextID, digest string
	tokens            int64
}

func (n noted) bytes() int { return facts.TextBytes(n.contextID) + facts.TextBytes(n.digest) }

func (t *Turn) scratchpad(ctx context.Context, entries []ScratchpadEntry, fact func(schema.Scratchpad, map[string]any) schema.Fact) error {
	id, err := orNewID("")
	if err != nil {
		return err
	}
	id = "scratchpad:" + id
	list, made := t.noteEntries(id, entries)
	chunks := facts.Chunk(list, facts.MaxPartBytes, noted.bytes)
	for i, part := range chunks {
		made = append(made, fact(scratchpadOf(id, part), facts.PartOf(i, len(chunks))))
	}
	return t.Record(ctx, made...)
}

// noteEntries counts and digests the entries, and returns the redactions that
// the guard made in them, one a policy.
func (t *Turn) noteEntries(id string, entries []ScratchpadEntry) (list []noted, redactions []schema.Fact) {
	client, all := t.run.client, []redact.Hit(nil)
	for _, e := range entries {
		text, hits := client.withheld.guard().Mask(e.Text)
		list = append(list, noted{e.ContextID, client.config.Key.Digest([]byte(text)), int64(client.config.Counter.Count(t.model.Name, text).Tokens)})
		all = append(all, hits...)
	}
	for _, hits := range byPolicy(all) {
		for _, redaction := range redaction(client.Source(), id, id, hits, []string{"text"}) {
			redactions = append(redactions, redaction)
		}
	}
	return list, redactions
}

// scratchpadOf has each context id once, in order, and a digest an entry.
func scratchpadOf(id string, list []noted) schema.Scratchpad {
	s := schema.Scratchpad{ScratchpadID: id, EntryCount: new(int64(len(list))), Tokens: new(int64)}
	for _, n := range list {
		if !slices.Contains(s.ContextIDs, n.contextID) {
			s.ContextIDs = append(s.ContextIDs, n.contextID)
		}
		if n.digest != "" {
			s.Digests = append(s.Digests, n.digest)
		}
		*s.Tokens += n.tokens
	}
	return s
}
