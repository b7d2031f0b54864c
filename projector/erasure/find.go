package erasure

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Erasable counts the messages of an erasure.
type Erasable struct {
	Events  uint64 `json:"events"`
	Repeats uint64 `json:"repeats"` // messages that repeated one of the events
	Refused uint64 `json:"refused"` // messages in quarantine
	Copies  uint64 `json:"copies"`  // messages of CTX_QUARANTINE
	Texts   uint64 `json:"texts"`   // texts of CTX_TEXTS that no other message names
	Kept    uint64 `json:"kept"`    // redactions and exports of the data subject, which stay
	// Masked are quarantined messages with a masked text in the place of the subject's id, because a
	// redaction withholds the id. They may belong to the subject, and stay.
	Masked uint64 `json:"masked"`
}

// Messages returns the number of messages in the streams of events.
func (e Erasable) Messages() uint64 { return e.Events + e.Repeats + e.Refused }

// IsZero reports whether there is nothing to erase.
func (e Erasable) IsZero() bool { return e.Messages()+e.Copies == 0 }

// Find counts the messages that Run would erase. Find changes nothing.
func (e Erasure) Find(ctx context.Context) (Erasable, error) {
	e.Log = cmp.Or(e.Log, slog.New(slog.DiscardHandler))
	d, err := e.find(ctx)
	if err != nil {
		return Erasable{}, err
	}
	return d.Erasable, nil
}

// An Earlier is an erasure of the same subject.
type Earlier struct {
	ErasureID string    `json:"erasure_id"`
	Tenant    string    `json:"tenant"`
	At        time.Time `json:"at"` // by the stream
}

// Earlier returns the erasures of the subject that the tables have, the oldest first. Facts name the
// subject by its digest; facts of earlier versions name it by its id. Without the ring only these are
// found.
func (e Erasure) Earlier(ctx context.Context) (list []Earlier, err error) {
	err = e.Tables.Each(func(l *ledger.Ledger) error {
		return privacy.Of(l).ErasureSubjects(ctx, func(tenant, id, subject string, at time.Time) {
			tenant = schema.TenantOf(tenant)
			if e.Tenant != "" && e.Tenant != tenant {
				return
			}
			if subject == e.Subject.String() || !e.Ring.Secret.IsZero() && subject == e.nameFor(tenant) {
				list = append(list, Earlier{id, tenant, at})
			}
		})
	})
	slices.SortStableFunc(list, func(a, b Earlier) int { return a.At.Compare(b.At) })
	return list, err
}

// nameFor returns the name of the subject in the facts of a tenant.
func (e Erasure) nameFor(tenant string) string {
	return ledger.Subject{Kind: e.Subject.Kind, ID: e.Ring.SubjectDigest(tenant, e.Subject.String())}.String()
}

func (e *Erasable) add(o Erasable) {
	e.Events, e.Repeats, e.Refused, e.Copies = e.Events+o.Events, e.Repeats+o.Repeats, e.Refused+o.Refused, e.Copies+o.Copies
	e.Texts += o.Texts
	e.Kept, e.Masked = o.Kept, o.Masked
}

// doomed are the messages to erase.
type doomed struct {
	Erasable
	streams map[uuid.UUID]jetstream.Stream // of events, by incarnation
	ledgers map[uuid.UUID]*ledger.Ledger   // which have messages of list, by incarnation
	list    []doomedMessage                // in the order of each stream
	copies  []uint64                       // sequences of copies in the quarantine stream
}

// doomedMessage is one message to erase.
type doomedMessage struct {
	ledger.Position
	owner owner
	left  schema.ErasedRecord // its record in the fact, without its place
	told  bool                // a fact names the message
}

// An owner is the tenant and session of a message's fact. The session is set for items, because their
// sessions remain, and on a cluster, because the shard of the session answers without the others.
type owner struct{ tenant, session string }

// find finds the messages to erase.
func (e Erasure) find(ctx context.Context) (d doomed, err error) {
	if err := e.notRebuilding(ctx); err != nil {
		return d, err
	}
	told, err := e.open(ctx, &d)
	if err != nil {
		return d, err
	}
	if err := e.Tables.Each(func(l *ledger.Ledger) error { return e.findIn(ctx, l, told, &d) }); err != nil {
		return d, err
	}
	if d.Masked, err = e.findMasked(ctx); err != nil {
		return d, err
	}
	slices.SortFunc(d.list, func(a, b doomedMessage) int {
		return cmp.Or(bytes.Compare(a.Incarnation[:], b.Incarnation[:]), cmp.Compare(a.StreamSeq, b.StreamSeq))
	})
	named, err := e.texts(d).Find(ctx)
	if err != nil {
		return d, err
	}
	d.Texts = uint64(named)
	return d, e.findCopies(ctx, &d)
}

// findIn adds the messages that a ledger has. A repeated message is in the stream of its event, so the
// same ledger has both.
func (e Erasure) findIn(ctx context.Context, l *ledger.Ledger, told toldLeaves, d *doomed) error {
	committed, err := l.Committed(ctx)
	if err != nil {
		return err
	}
	events := make(map[recordPlace]bool)
	add := func(at ledger.Position, of owner, left schema.ErasedRecord, count *uint64) {
		of.tenant = schema.TenantOf(of.tenant)
		if at.StreamSeq > committed[at.Incarnation] {
			return // a running projector writes the message, or died during the write
		}
		*count++
		d.ledgers[at.Incarnation] = l
		d.list = append(d.list, doomedMessage{at, of, left, told.has(d.recordAt(at), of.tenant, left.Leaf)})
	}
	err = privacy.Of(l).Erasable(ctx, e.Subject, e.Tenant, func(m privacy.Erasable) {
		switch {
		case m.Kept:
			d.Kept++
		case m.First == nil:
			events[d.recordAt(m.Position)] = true
			of := owner{tenant: m.Tenant}
			if e.Subject.IsItem() || e.Tables.OnCluster() {
				of.session = m.Record.SessionID
			}
			left := m.Record
			left.Leaf = strings.ToLower(m.Leaf)
			add(m.Position, of, left, &d.Events)
		case told.any(d.recordAt(*m.First), schema.TenantOf(m.Tenant)) || events[d.recordAt(*m.First)]:
			add(m.Position, owner{tenant: m.Tenant}, schema.ErasedRecord{}, &d.Repeats)
		}
	})
	if err != nil {
		return err
	}
	return privacy.Of(l).ErasableRefusals(ctx, e.Subject, e.Tenant, func(r ledger.Refusal) {
		add(r.Position(), owner{tenant: r.Tenant}, schema.ErasedRecord{}, &d.Refused)
	})
}

// findMasked counts quarantined messages that may belong to a subject whose id is withheld.
func (e Erasure) findMasked(ctx context.Context) (n uint64, err error) {
	withheld, err := e.withheld(ctx)
	if err != nil {
		return 0, err
	}
	err = e.Tables.Each(func(l *ledger.Ledger) error {
		return read.Of(l).Refusals(ctx, read.RefusalFilter{Code: string(schema.CodeReintroduced), Tenant: e.Tenant}, func(r ledger.Refusal) error {
			mask := withheld.Of(nil, []string{schema.TenantOf(r.Tenant)}).Mask(e.Subject.ID)
			if mask == e.Subject.ID || r.Source == Source { // refused facts of erasures are not the subject's
				return nil
			}
			held := bytes.Contains(r.Data, []byte(mask))
			for _, values := range r.Header {
				held = held || slices.Contains(values, mask)
			}
			if held {
				n++
			}
			return nil
		})
	})
	return n, err
}

// A recordPlace is the place of a message in a fact. For a stream that no longer exists, stream
// is the incarnation instead of the name.
type recordPlace struct {
	stream   string
	sequence uint64
}

func (d *doomed) recordAt(at ledger.Position) recordPlace {
	if stream := d.streams[at.Incarnation]; stream != nil {
		return recordPlace{stream.CachedInfo().Config.Name, at.StreamSeq}
	}
	return recordPlace{at.Incarnation.String(), at.StreamSeq}
}

// notRebuilding returns an error if there is a second set of tables.
func (e Erasure) notRebuilding(ctx context.Context) error {
	return e.Tables.Each(func(l *ledger.Ledger) error {
		if _, err := shadow.Of(l).FinishSwap(ctx); err != nil {
			return err
		}
		second, err := shadow.Of(l).Beside(ctx)
		if err != nil {
			return err
		}
		there, err := second.Exists(ctx)
		if err == nil && there {
			err = ErrRebuilding
		}
		return err
	})
}

// toldLeaves are the leaves in the facts of the streams, in hex, by message. A fact names only
// messages of the fact's tenant.
type toldLeaves map[recordPlace][]toldLeaf

type toldLeaf struct{ tenant, leaf string }

func (t toldLeaves) has(at recordPlace, tenant, leaf string) bool {
	return slices.Contains(t[at], toldLeaf{tenant, leaf})
}

// any reports whether a fact of the tenant names the message with any leaf.
func (t toldLeaves) any(at recordPlace, tenant string) bool {
	return slices.ContainsFunc(t[at], func(l toldLeaf) bool { return l.tenant == tenant })
}

func (t toldLeaves) add(tenant string, r schema.ErasedRecord) {
	at := recordPlace{r.Stream, uint64(r.Sequence)}
	t[at] = append(t[at], toldLeaf{schema.TenantOf(tenant), strings.ToLower(r.Leaf)})
}

// open opens the streams of events, and reads which messages their facts name.
func (e Erasure) open(ctx context.Context, d *doomed) (told toldLeaves, err error) {
	streams, err := streamio.ReadStreams(ctx, e.JetStream)
	if err != nil {
		return nil, err
	}
	d.streams, d.ledgers, told = make(map[uuid.UUID]jetstream.Stream, len(streams)), make(map[uuid.UUID]*ledger.Ledger, len(streams)), make(toldLeaves)
	for _, s := range streams {
		from, err := streamio.OpenSource(ctx, e.JetStream, s.Name, e.Tables, e.Log)
		if err != nil {
			return nil, err
		}
		d.streams[from.Incarnation] = from.Stream
		err = readErasures(ctx, from, func(fact *schema.ErasureApplied, tenant string, _ time.Time) {
			for _, r := range fact.Records {
				told.add(tenant, r)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return told, nil
}

// findCopies finds the copies of the messages in the quarantine stream. findCopies also finds
// copies of the data subject without a row.
func (e Erasure) findCopies(ctx context.Context, d *doomed) error {
	doomed := make(map[recordPlace]bool, len(d.list))
	for _, m := range d.list {
		doomed[d.recordAt(m.Position)] = true
	}
	return quarantine.Read(ctx, e.JetStream, "", time.Time{}, func(sequence uint64, r ledger.Refusal, _ bool) error {
		mine := e.Tenant == "" || r.Tenant == e.Tenant
		if doomed[d.recordAt(r.Position())] || mine && e.Subject.CoversRefused(r) {
			d.copies = append(d.copies, sequence)
			d.Copies++
		}
		return nil
	})
}

func (d *doomed) byIncarnation() map[uuid.UUID][]uint64 {
	by := make(map[uuid.UUID][]uint64)
	for _, m := range d.list {
		by[m.Incarnation] = append(by[m.Incarnation], m.StreamSeq)
	}
	return by
}
