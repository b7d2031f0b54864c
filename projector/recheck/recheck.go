package recheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/schema"
)

// Rechecker finds withheld values in events of the ledger that were recorded before their
// redaction, or while a key was missing. A Rechecker needs no lease and no stream, and may run
// at the same time as a projector.
type Rechecker struct {
	// Ledger holds the events and receives the results. Required.
	Ledger *ledger.Ledger
	// Shards are all shards of a cluster. What a redaction of any of them withholds is looked for. Nil for
	// a plain ledger.
	Shards []*ledger.Ledger
	// Keys returns the tenants' key rings. Nil means no keys.
	Keys func() ([]schema.KeyRing, error)
	// Text reads a text that a fact of a tenant names by [schema.TextRef]. It returns "" for a text that
	// was erased or has expired. Nil leaves such texts out.
	Text func(ctx context.Context, tenant string, ref schema.Ref) (string, error)
	// Every is the number of events after which Run saves its place. Defaults to 10,000.
	Every uint64
	// Log receives messages for the operator. Nil discards them.
	Log *slog.Logger
	// Found is called for each event that holds a withheld value. May be nil.
	Found func(privacy.Reintroduction)
}

// Rechecked is the result of a re-check.
type Rechecked struct {
	Events      uint64 // events that were read, including events before a resumed pass
	Found       uint64 // events that hold a withheld value
	UnknownKeys uint64 // missing keys that redactions name
	Unread      uint64 // texts that could not be read; those of an interrupted pass are not counted
}

// Run reads the events of every tenant with withheld values once. Run resumes an interrupted
// pass with the same fingerprints. Memory does not grow with the number of events. The view
// check_redaction_reintroduced lists the found events while they exist.
func (r Rechecker) Run(ctx context.Context) (Rechecked, error) {
	if r.Ledger == nil {
		return Rechecked{}, errors.New("recheck: Ledger is required")
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Every == 0 {
		r.Every = 10_000
	}
	keys, err := leak.ReadKeys(r.Keys)
	if err != nil {
		return Rechecked{}, err
	}
	values, err := privacy.WithheldOf(ctx, privacy.OfAll(r.Ledger, r.Shards...), uuid.Nil, 0)
	if err != nil {
		return Rechecked{}, err
	}
	var done Rechecked
	unknown := make(map[leak.UnknownKey]bool)
	byTenant := make(map[string][]privacy.Withheld)
	var tenants []string
	for _, v := range values {
		if !keys.Has(v.Tenant, v.Fingerprint.KeyID) {
			unknown[leak.UnknownKey{Tenant: schema.TenantOf(v.Tenant), ID: v.Fingerprint.KeyID}] = true
			continue
		}
		name := schema.TenantOf(v.Tenant)
		if byTenant[name] == nil {
			tenants = append(tenants, name)
		}
		byTenant[name] = append(byTenant[name], v)
	}
	done.UnknownKeys = uint64(len(unknown))
	for _, tenant := range tenants {
		w := leak.NewValues(keys)
		for _, v := range byTenant[tenant] {
			w.Learn(v)
		}
		for _, stored := range ledger.StoredTenants(tenant) {
			pass, err := r.tenant(ctx, stored, byTenant[tenant], w.Of(nil, []string{tenant}), &done.Unread)
			done.Events += pass.Events
			done.Found += pass.Found
			if err != nil {
				return done, fmt.Errorf("re-check: %w", err)
			}
		}
	}
	return done, nil
}

// tenant checks the events that are stored under one name of a tenant.
func (r Rechecker) tenant(ctx context.Context, tenant string, values []privacy.Withheld, w leak.Set, unread *uint64) (privacy.Recheck, error) {
	pass, err := privacy.Of(r.Ledger).LastRecheck(ctx, tenant, privacy.FingerprintSet(values))
	if err != nil {
		return pass, err
	}
	if pass.Pass == 0 || pass.Finished {
		pass = privacy.Recheck{Tenant: tenant, Fingerprints: pass.Fingerprints, Pass: pass.Pass + 1}
	} else {
		r.Log.Info("resuming an interrupted re-check", "events", pass.Events)
	}
	var found []privacy.Reintroduction
	saved := pass.Events
	err = privacy.Of(r.Ledger).EventTexts(ctx, tenant, pass.Place, func(e privacy.EventText) error {
		pass.Events++
		texts, err := r.texts(ctx, tenant, e, unread)
		if err != nil {
			return err
		}
		if hit, ok := look(w, tenant, e, texts); ok {
			pass.Found++
			found = append(found, hit)
			if r.Found != nil {
				r.Found(hit)
			}
		}
		pass.Place = e.Place
		// A place whose session is a withheld value must not be saved.
		if pass.Events-saved < r.Every || len(w.InWord([]byte(e.Place.Session))) > 0 {
			return nil
		}
		err = privacy.Of(r.Ledger).SaveRecheck(ctx, pass, found)
		found, saved = nil, pass.Events
		return err
	})
	if err != nil {
		return pass, err
	}
	pass.Place, pass.Finished = privacy.Place{}, true
	return pass, privacy.Of(r.Ledger).SaveRecheck(ctx, pass, found)
}

// texts returns the texts that an event names. It counts those that cannot be read.
func (r Rechecker) texts(ctx context.Context, tenant string, e privacy.EventText, unread *uint64) (texts []string, err error) {
	if r.Text == nil {
		return nil, nil
	}
	for _, ref := range privacy.TextRefsIn([]byte(e.Data)) {
		text, err := r.Text(ctx, tenant, ref)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.Log.Warn("a text was not searched for withheld values", "event", "text_unread", "stream", e.Incarnation, "sequence", e.StreamSeq, "error", err)
			*unread++
			continue
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// look returns the reintroduction for the first withheld value that is found in an event or its texts.
func look(w leak.Set, tenant string, e privacy.EventText, texts []string) (privacy.Reintroduction, bool) {
	found := w.InPayload([]byte(e.Data))
	for _, text := range texts {
		found = slices.Concat(found, w.InPayload([]byte(text)))
	}
	for _, attribute := range e.Attributes {
		if len(found) > 0 {
			break
		}
		found = slices.Concat(found, w.InWord([]byte(attribute)))
	}
	if len(found) == 0 {
		return privacy.Reintroduction{}, false
	}
	policy := found[0].Value.PolicyRef
	return privacy.Reintroduction{
		Incarnation: e.Incarnation, StreamSeq: e.StreamSeq, RecordedAt: e.RecordedAt, Tenant: tenant,
		Session: w.Mask(e.Place.Session), Turn: w.Mask(e.Turn), Type: w.Mask(e.Type), Record: w.Mask(e.Record),
		RedactionID: w.Mask(found[0].Value.RedactionID), PolicyRef: w.Mask(policy),
	}, true
}
