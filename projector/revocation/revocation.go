// Package revocation takes redactions back.
//
// A [Revocation] publishes one fact a redaction, in the session of the redaction, and waits until
// the tables have the fact. From its place in the stream on, the redaction withholds nothing. What
// was masked before stays masked.
package revocation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Source is the source of the facts of revocations. These facts have no sequence.
const Source = "urn:ctxledger:revoke"

// Revocation takes a redaction back. Run may be repeated, and two runs at the same time do no harm.
type Revocation struct {
	JetStream   jetstream.JetStream // required
	Tables      shardmap.Tables     // required
	RedactionID string              // required
	// Tenant is the tenant of the redaction. Empty means the only tenant that has it.
	Tenant string
	// SameValue also takes back the other redactions in force of the same values.
	SameValue bool
	// Reason and PolicyRefs are recorded in the fact permanently. Run requires both.
	Reason     string
	PolicyRefs []string
	// Patience is the wait for progress of the ledger before Run returns [ErrNotProjected].
	// Defaults to 15 s.
	Patience time.Duration
}

var (
	// ErrNotProjected means that the fact is in the stream but not in the tables. The revocation
	// counts as soon as a projector reads it.
	ErrNotProjected = errors.New("the revocation is in the stream, but no projector writes it to the tables: start one with `ctxledger project`")
	// ErrRefused means that the projector refused the fact. The redaction is still in force.
	ErrRefused = errors.New("the redaction is still in force: the fact of its revocation was refused. `ctxledger quarantine list` shows why; a reason and policy refs must not contain a withheld value")
	// ErrNothing means that no redaction in force has the id.
	ErrNothing = errors.New("no redaction in force has this id")
)

// Revoked is the result of a revocation.
type Revoked struct {
	Tenant     string   `json:"tenant"`
	Redactions []string `json:"redactions"` // that were taken back
	// Same are other redactions in force of the same values. They still withhold these values.
	Same []string `json:"same_value"`
}

// Find returns the redactions that Run would take back. Find changes nothing. Errors: [ErrNothing],
// or an error of a server.
func (r Revocation) Find(ctx context.Context) (Revoked, error) {
	found, _, err := r.find(ctx)
	return found, err
}

// Run takes the redaction back, and returns when the tables have the facts. Errors: [ErrNothing],
// [ErrNotProjected], [ErrRefused], or an error of a server.
func (r Revocation) Run(ctx context.Context) (Revoked, error) {
	if r.RedactionID == "" || r.Reason == "" || len(r.PolicyRefs) == 0 {
		return Revoked{}, errors.New("revocation: RedactionID, Reason and PolicyRefs are required")
	}
	found, places, err := r.find(ctx)
	if err != nil {
		return found, err
	}
	for _, at := range places {
		if err := r.tell(ctx, found.Tenant, at); err != nil {
			return found, fmt.Errorf("publish the fact of the revocation: %w", err)
		}
	}
	heads, err := streamio.ReadLastSequences(ctx, r.JetStream)
	if err != nil {
		return found, err
	}
	if err := r.Tables.AwaitCommit(ctx, r.JetStream, heads, cmp.Or(r.Patience, 15*time.Second), ErrNotProjected); err != nil {
		return found, fmt.Errorf("wait for the fact of the revocation: %w", err)
	}
	for _, at := range places {
		left, err := r.inForce(ctx, found.Tenant, at.RedactionID)
		if err != nil {
			return found, err
		}
		if slices.Contains(left, at) { // a place of a later fact is a redaction since
			return found, ErrRefused
		}
	}
	return found, nil
}

// find returns the redactions to take back, with the places of each.
func (r Revocation) find(ctx context.Context) (found Revoked, places []privacy.InForce, err error) {
	if places, err = r.inForce(ctx, r.Tenant, r.RedactionID); err != nil {
		return found, nil, err
	}
	if len(places) == 0 {
		return found, nil, ErrNothing
	}
	found.Tenant, found.Redactions = schema.TenantOf(places[0].Tenant), []string{r.RedactionID}
	for _, at := range places[1:] {
		if of := schema.TenantOf(at.Tenant); of != found.Tenant {
			return found, nil, fmt.Errorf("the tenants %q and %q both have a redaction with this id; name one with --tenant", found.Tenant, of)
		}
	}
	others, err := r.sameValue(ctx, privacy.Redaction{Tenant: found.Tenant, ID: r.RedactionID})
	if err != nil {
		return found, nil, err
	}
	for _, id := range others {
		more, err := r.inForce(ctx, found.Tenant, id)
		switch {
		case err != nil:
			return found, nil, err
		case len(more) == 0: // revoked
		case r.SameValue:
			found.Redactions, places = append(found.Redactions, id), append(places, more...)
		default:
			found.Same = append(found.Same, id)
		}
	}
	return found, places, nil
}

// inForce is [privacy.Tables.InForce] for all ledgers.
func (r Revocation) inForce(ctx context.Context, tenant, id string) (places []privacy.InForce, err error) {
	err = r.Tables.Each(func(l *ledger.Ledger) error {
		more, err := privacy.Of(l).InForce(ctx, tenant, id)
		places = append(places, more...)
		return err
	})
	return places, err
}

// sameValue returns the other redactions that share a fingerprint with a redaction, each once and sorted.
func (r Revocation) sameValue(ctx context.Context, of privacy.Redaction) (ids []string, err error) {
	var fingerprints []string
	err = r.Tables.Each(func(l *ledger.Ledger) error {
		more, err := privacy.Of(l).FingerprintsOf(ctx, of)
		fingerprints = append(fingerprints, more...)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = r.Tables.Each(func(l *ledger.Ledger) error {
		more, err := privacy.Of(l).SameValue(ctx, of, fingerprints)
		ids = append(ids, more...)
		return err
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// tell publishes the fact for a redaction. The id follows from the redaction's place, so that two
// runs publish one fact, and a later redaction of the same id can be taken back again.
func (r Revocation) tell(ctx context.Context, tenant string, at privacy.InForce) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s %d", tenant, at.Session, at.RedactionID, at.Incarnation, at.StreamSeq))
	fact := &schema.RedactionRevoked{
		Common: schema.Common{PolicyRefs: schema.Refs(r.PolicyRefs...)}, RedactionID: at.RedactionID, Reason: r.Reason,
	}
	event, err := schema.NewEvent(fact, "revocation-"+hex.EncodeToString(sum[:12]), Source, time.Now(), schema.Correlation{Tenant: tenant, SessionID: at.Session})
	if err != nil {
		return err
	}
	if _, violations := schema.Validate(event); len(violations) > 0 {
		return violations
	}
	m := event.Binary()
	_, err = streamio.PublishOnce(ctx, r.JetStream, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}, event.MessageID())
	return err
}
