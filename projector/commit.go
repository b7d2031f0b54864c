package projector

import (
	"context"

	"github.com/ctxledger/ctxledger/ledger"
)

// The points of a commit at which a crash differs from one at any other point.
const (
	pointBuilt       = "built"       // nothing happened
	pointJournalled  = "journalled"  // the lease entry names the range
	pointQuarantined = "quarantined" // refused messages are in their stream
	pointWritten     = "written"     // every table has its rows
	pointCommitted   = "committed"   // the row of commits stands
)

// commit takes one batch through journal, tables and commit.
func (p *Projector) commit(ctx context.Context, messages []*message) error {
	r := rangeOf(messages)
	all := make([]parsed, len(messages))
	for i, m := range messages {
		all[i] = parse(m)
	}
	var known map[pair]ledger.Known
	if err := p.persist(ctx, "look up identities", func() (err error) {
		known, err = p.known(ctx, all)
		return err
	}); err != nil {
		return err
	}
	batch, refused := build(r, all, known)
	for _, step := range []struct {
		verb string
		do   func() error
		then string
	}{
		{"", nil, pointBuilt},
		{"journal", func() error { return p.lease.Journal(ctx, r) }, pointJournalled},
		{"publish to quarantine", func() error { return p.quarantine(ctx, refused) }, pointQuarantined},
		{"write", func() error { return p.config.Ledger.WriteRows(ctx, batch, p.lease.Epoch()) }, pointWritten},
		{"commit", func() error { return p.config.Ledger.Commit(ctx, batch, p.lease.Epoch()) }, pointCommitted},
	} {
		if step.do != nil {
			if err := p.persist(ctx, step.verb, step.do); err != nil {
				return err
			}
		}
		p.reached(step.then)
	}
	for _, m := range all {
		if len(m.violations) == 0 {
			p.seen.add(m.identity)
		}
	}
	rows := batch.Rows()
	p.events.Add(rows["events"])
	p.quarantined.Add(rows["quarantine"])
	p.duplicates.Add(rows["duplicates"])
	p.committed.Store(r.Last)
	p.config.Log.Debug("committed", "first", r.First, "last", r.Last, "messages", r.Messages)
	if p.seen.full() {
		return p.loadIdentities(ctx)
	}
	return nil
}

// known asks the ledger about the identities that the filter does not call
// new. Where several streams have brought an event, this stream's own first
// message counts, as it did when it was derived for the first time.
func (p *Projector) known(ctx context.Context, all []parsed) (map[pair]ledger.Known, error) {
	var hits []uint64
	for _, m := range all {
		if len(m.violations) == 0 && p.seen.maybe(m.identity) {
			hits = append(hits, m.identity)
		}
	}
	if len(hits) == 0 {
		return nil, nil
	}
	found, err := p.config.Ledger.Lookup(ctx, hits)
	if err != nil {
		return nil, err
	}
	known := make(map[pair]ledger.Known, len(found))
	for _, k := range found {
		id := pair{k.Source, k.EventID}
		first, again := known[id]
		own := k.Position.Incarnation == p.incarnation
		if !again || own && (first.Position.Incarnation != p.incarnation || k.Position.StreamSeq < first.Position.StreamSeq) {
			known[id] = k
		}
	}
	return known, nil
}

func (p *Projector) loadIdentities(ctx context.Context) error {
	return p.persist(ctx, "load identities", func() (err error) {
		p.seen, err = loadIdentities(ctx, p.config.Ledger)
		return err
	})
}
