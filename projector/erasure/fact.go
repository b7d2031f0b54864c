package erasure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Source is the source of the facts of erasures. These facts have no sequence.
const Source = "urn:ctxledger:erase"

// factBytes limits the records of one fact, so that the whole fact stays within
// [schema.MaxEventBytes].
const factBytes = 3 * schema.MaxEventBytes / 4

// tell publishes facts for messages without one, and returns the ids of the erasures.
func (e Erasure) tell(ctx context.Context, d doomed) (ids []string, err error) {
	withheld, err := e.withheld(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := e.facts(d, withheld, time.Now())
	if err != nil {
		return nil, err
	}
	for _, event := range facts {
		m := event.Binary()
		msg := &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
		if _, err := streamio.PublishOnce(ctx, e.JetStream, msg, event.MessageID()); err != nil {
			return ids, err
		}
		if id := event.Subject; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// facts returns facts for messages without one. Each owner has one erasure, with as many parts
// as its records need. The id is a digest of the contents, so that two runs at the same time
// publish the same fact once.
func (e Erasure) facts(d doomed, withheld *leak.Values, at time.Time) (facts []*schema.Event, err error) {
	records := make(map[owner][]schema.ErasedRecord)
	var owners []owner
	for _, m := range d.list {
		if m.told {
			continue
		}
		if records[m.owner] == nil {
			owners = append(owners, m.owner)
		}
		place := d.recordAt(m.Position)
		m.left.Stream, m.left.Sequence = place.stream, int64(place.sequence)
		records[m.owner] = append(records[m.owner], m.left)
	}
	for _, of := range owners {
		more, err := e.factsOf(of, records[of], withheld.Of(nil, []string{of.tenant}), at)
		if err != nil {
			return nil, err
		}
		facts = append(facts, more...)
	}
	return facts, nil
}

// withheld returns the values that redactions withhold.
func (e Erasure) withheld(ctx context.Context) (*leak.Values, error) {
	keys, err := leak.ReadKeys(e.Keys)
	if err != nil {
		return nil, err
	}
	values := leak.NewValues(keys)
	var all []privacy.Withheld
	err = e.Tables.Each(func(l *ledger.Ledger) error {
		list, err := privacy.Of(l).WithheldThrough(ctx, uuid.Nil, 0)
		all = append(all, list...)
		return err
	})
	if e.Tables.OnCluster() { // one ledger has its own order of equal times
		slices.SortStableFunc(all, func(a, b privacy.Withheld) int { return a.RecordedAt.Compare(b.RecordedAt) })
	}
	for _, v := range all {
		values.Learn(v)
	}
	return values, err
}

// without leaves out the ids of an owner and its records that are withheld. With such an id the fact
// would itself be refused.
func without(withheld leak.Set, of owner, records []schema.ErasedRecord) (owner, []schema.ErasedRecord) {
	ids := []*string{&of.session}
	for i := range records {
		r := &records[i]
		ids = append(ids, &r.Source, &r.SessionID, &r.RunID, &r.TurnID, &r.ItemID)
	}
	for _, id := range ids {
		if len(withheld.InWord([]byte(*id))) > 0 {
			*id = ""
		}
	}
	return of, records
}

// mayStay returns an error if a text of the operator holds a withheld value.
func (e Erasure) mayStay(withheld leak.Set) error {
	for i, text := range append([]string{e.Reason}, e.PolicyRefs...) {
		if found := withheld.InWord([]byte(text)); len(found) > 0 {
			part := "policy ref"
			if i == 0 {
				part = "reason"
			}
			return &WithheldError{Part: part, RedactionID: found[0].Value.RedactionID}
		}
	}
	return nil
}

// factsOf returns the facts of one owner's records.
func (e Erasure) factsOf(of owner, records []schema.ErasedRecord, withheld leak.Set, at time.Time) (facts []*schema.Event, err error) {
	if err := e.mayStay(withheld); err != nil {
		return nil, err
	}
	of, records = without(withheld, of, records)
	subject := e.nameFor(of.tenant)
	about, err := json.Marshal([]any{of.tenant, of.session, subject, e.Reason, e.PolicyRefs, records}, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(about)
	id := "erasure-" + hex.EncodeToString(digest[:12])
	parts, err := factParts(records)
	if err != nil {
		return nil, err
	}
	for part := range parts {
		fact := &schema.ErasureApplied{
			Common: schema.Common{PolicyRefs: schema.Refs(e.PolicyRefs...)}, ErasureID: id, ErasedSubject: subject, Reason: e.Reason,
			Records: parts[part],
		}
		if len(parts) > 1 {
			fact.Metadata = map[string]any{"part": part + 1, "parts": len(parts)}
		}
		event, err := schema.NewEvent(fact, fmt.Sprintf("%s-%d", id, part+1), Source, at, schema.Correlation{Tenant: of.tenant, SessionID: of.session})
		if err != nil {
			return nil, err
		}
		if _, violations := schema.Validate(event); len(violations) > 0 {
			return nil, violations
		}
		facts = append(facts, event)
	}
	return facts, nil
}

// factParts splits records into the parts of one fact each.
func factParts(records []schema.ErasedRecord) (parts [][]schema.ErasedRecord, err error) {
	size, from := 0, 0
	for i := range records {
		text, err := json.Marshal(records[i])
		if err != nil {
			return nil, err
		}
		if size += len(text) + 1; size > factBytes && i > from {
			parts = append(parts, records[from:i])
			size, from = len(text)+1, i
		}
	}
	return append(parts, records[from:]), nil
}
