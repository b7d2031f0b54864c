package projector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErasureSource is the source of the facts of erasures. They have no sequence.
const ErasureSource = "urn:ctxledger:erase"

// factRecords is how many records one fact has, so that it stays within
// [schema.MaxEventBytes]: a record takes up to 150 bytes.
const factRecords = 400

// tell publishes the facts of what no fact tells of yet: for each owner one erasure, in
// as many parts as its records need. Its id follows from what it says, so that two who
// tell of the same at the same time tell it once.
func (e Erasure) tell(ctx context.Context, d doomed) (ids []string, err error) {
	records := make(map[owner][]schema.ErasedRecord)
	var owners []owner
	for _, m := range d.list {
		if m.told {
			continue
		}
		if records[m.owner] == nil {
			owners = append(owners, m.owner)
		}
		at := d.recordAt(m.Position)
		records[m.owner] = append(records[m.owner], schema.ErasedRecord{Stream: at.stream, Sequence: int64(at.sequence), Leaf: strings.ToLower(m.leaf)})
	}
	for _, of := range owners {
		id, err := e.tellOne(ctx, of, records[of])
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// tellOne publishes the facts of one owner's records and returns the erasure's id.
func (e Erasure) tellOne(ctx context.Context, of owner, records []schema.ErasedRecord) (string, error) {
	about, err := json.Marshal([]any{of.tenant, of.session, e.Subject.String(), e.Reason, e.PolicyRefs, records}, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(about)
	id := "erasure-" + hex.EncodeToString(digest[:12])
	now := time.Now()
	parts := (len(records) + factRecords - 1) / factRecords
	for part := range parts {
		fact := &schema.ErasureApplied{
			Common: schema.Common{PolicyRefs: schema.Refs(e.PolicyRefs...)}, ErasureID: id, ErasedSubject: e.Subject.String(), Reason: e.Reason,
			Records: records[part*factRecords : min((part+1)*factRecords, len(records))],
		}
		if parts > 1 {
			fact.Metadata = map[string]any{"part": part + 1, "parts": parts}
		}
		event, err := schema.NewEvent(fact, fmt.Sprintf("%s-%d", id, part+1), ErasureSource, now, schema.Correlation{Tenant: of.tenant, SessionID: of.session})
		if err != nil {
			return "", err
		}
		if _, violations := schema.Validate(event); len(violations) > 0 {
			return "", violations
		}
		m := event.Binary()
		msg := &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
		if _, err := e.JetStream.PublishMsg(ctx, msg, jetstream.WithMsgID(event.MessageID())); err != nil {
			return "", err
		}
	}
	return id, nil
}
