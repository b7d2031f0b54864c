package verify

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence/internal/idtable"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// consistency compares the records with the header and with one another. A holder of the signing key can
// sign records that a ledger would never write.
type consistency struct {
	found  *findings
	header *pack.Header
	latest []time.Time // latest time of recording by log
	// strange means that a record other than of an erasure has its event, inScope that one such record is
	// in the scope of the header.
	strange, inScope bool
	identities       idtable.Table   // each source and id
	identity         []byte          // a buffer
	sources          map[string]bool // sources, and source#call of each call
	gone             bool            // a record has no event
}

func newConsistency(v *verifier) consistency {
	return consistency{found: v.found, header: &v.header, latest: make([]time.Time, len(v.heads)+1), sources: make(map[string]bool)}
}

// see compares a record that matches the log.
func (c *consistency) see(l *line, log int) {
	c.inHeader(l, log)
	c.byContract(l)
}

// finish compares what needs all records.
func (c *consistency) finish() {
	if c.strange && !c.inScope {
		c.found.faultf(Format, pack.HeaderFile, 1, "names a scope of which the pack has no record")
	}
	for _, r := range c.header.Retold {
		if c.header.Scope.Kind != pack.ScopeSession || c.gone {
			continue
		}
		if c.sources[r.Source] && !c.sources[r.By] {
			c.found.faultf(Format, pack.HeaderFile, 1, "says that the source %s tells a log best, but the pack of the session has no record of it", quote(r.By))
		}
		if r.Call != "" && c.sources[r.Source+"#"+r.Call] && !c.sources[r.By+"#"+r.ByCall] {
			c.found.faultf(Format, pack.HeaderFile, 1, "says that the record of call %s counts, but the pack of the session has no record of it", quote(r.ByCall))
		}
	}
}

// clockStep is how far the clock of the stream's server may step back between two messages.
const clockStep = time.Minute

// exporterClock is how far the exporter's clock may be behind the clock of the stream's server.
const exporterClock = time.Hour

// inHeader checks a record by the header: its tenant and session, whether its event is withheld, and the
// time of recording, which no leaf covers.
func (c *consistency) inHeader(l *line, log int) {
	h, rec := c.header, l.record
	fault := func(format string, arguments ...any) {
		c.found.faultf(Format, pack.EventsFile, l.number, format, arguments...)
	}
	if e := rec.Event; e != nil && schema.TenantOf(e.Tenant) != schema.TenantOf(h.Scope.Tenant) {
		fault("is of tenant %s, but the header names tenant %s", quote(schema.TenantOf(e.Tenant)), quote(schema.TenantOf(h.Scope.Tenant)))
	}
	if e := rec.Event; e != nil {
		_, erasure := l.read.Fact.(*schema.ErasureApplied) // in any session
		c.strange = c.strange || !erasure
		c.inScope = c.inScope || h.Scope.Has(&e.Correlation)
		if !erasure && e.SessionID != h.Scope.Session {
			fault("is of session %s, but the header names session %s", quote(e.SessionID), quote(h.Scope.Session))
		}
	}
	switch {
	case h.RedactIDs && rec.Event != nil:
		fault("has its event, but the header says that ids are withheld (redact_ids)")
	case !h.RedactIDs && rec.Withheld:
		fault("is withheld, but the header does not say that ids are withheld (redact_ids)")
	}
	if at := rec.RecordedAt; !at.IsZero() {
		if latest := c.latest[log]; at.Before(latest.Add(-clockStep)) {
			fault("was recorded at %s, but an earlier record of the log at %s", at.Format(time.RFC3339Nano), latest.Format(time.RFC3339Nano))
		}
		if at.After(h.Created.Add(exporterClock)) {
			fault("was recorded at %s, after the pack was created at %s", at.Format(time.RFC3339Nano), h.Created.Format(time.RFC3339Nano))
		}
		if at.After(c.latest[log]) {
			c.latest[log] = at
		}
	}
}

// byContract checks that an event conforms to the contract, and that no other record has its identity. A
// ledger refuses the others.
func (c *consistency) byContract(l *line) {
	e := l.record.Event
	if e == nil {
		c.gone = true
		return
	}
	if len(c.header.Retold) > 0 {
		c.sources[e.Source] = true
		if f, ok := l.read.Fact.(*schema.UsageRecorded); ok {
			c.sources[e.Source+"#"+f.CallID] = true
		}
	}
	if broken := l.read.Violations; len(broken) > 0 {
		c.found.faultf(Format, pack.EventsFile, l.number, "breaks the contract of events: %s at %s", broken[0].Code, broken[0].Pointer)
	}
	c.identity = append(append(binary.AppendUvarint(c.identity[:0], uint64(len(e.Source))), e.Source...), e.ID...)
	identity := idtable.HashBytes(c.identity)
	if c.identities.Get(identity) != 0 {
		c.found.faultf(Format, pack.EventsFile, l.number, "has the source and the id of an earlier record, %s", quote(e.ID))
	}
	c.identities.Set(identity, 1)
}

// heads compares the heads of the pack with one another, and with heads that a witness has seen.
func (c *consistency) heads(heads []head, witnessed []proof.Checkpoint) {
	for i, h := range heads {
		if j := slices.Index(c.header.Logs, c.header.Logs[i]); j < i {
			c.found.faultf(Format, pack.HeaderFile, 1, "names the log %q twice, as log %d and %d", c.header.Logs[i], j+1, i+1)
		}
		for _, seen := range witnessed {
			switch {
			case seen.Origin != h.Origin || !h.signed:
			case seen.Size != h.Size:
				c.found.note(Signature, "the witnessed head of %q has size %d, and the pack's %d: `ctxledger proof consistency` compares them on the ledger", h.Origin, seen.Size, h.Size)
			case seen.Root != h.Root:
				c.found.faultf(Signature, pack.CheckpointFile(i+1), 0, "contradicts the witnessed head of size %d: the log has two histories", h.Size)
			default:
				c.found.note(Signature, "the head of %q is the witnessed one, of size %d", h.Origin, h.Size)
			}
		}
	}
}
