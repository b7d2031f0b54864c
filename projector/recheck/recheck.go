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

// Rechecker finds withheld values in events that are in the ledger already: those
// that were recorded before their redaction, or while a key was not there. It
// needs no lease and no stream, and may run at the same time as a projector.
type Rechecker struct {
	// Ledger is where the events are and what was found is kept. Required.
	Ledger *ledger.Ledger
	// Keys returns the tenants' key rings. Nil has none.
	Keys func() ([]schema.KeyRing, error)
	// Every is after how many events the pass can be resumed. Defaults to 10,000.
	Every uint64
	// Log gets what a person would want to know. Nil discards it.
	Log *slog.Logger
	// Found is called for each event that holds a withheld value. Nil is not called.
	Found func(privacy.Reintroduction)
}

// Rechecked is what a re-check has done.
type Rechecked struct {
	Events      uint64 // read, by the pass as a whole where one was resumed
	Found       uint64 // of them that hold a withheld value
	UnknownKeys uint64 // keys that redactions name and that are not there
}

// Run goes once through the events of every tenant that withholds something. A
// pass that was cut off with the same fingerprints goes on where it was; memory
// does not grow with the events. What is found is a row of the view
// check_redaction_reintroduced, for as long as the event is there.
func (r Rechecker) Run(ctx context.Context) (Rechecked, error) {
	if r.Ledger == nil {
		return Rechecked{}, errors.New("projector: Ledger is required")
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
	values, err := privacy.Of(r.Ledger).WithheldThrough(ctx, uuid.Nil, 0)
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
			pass, err := r.tenant(ctx, stored, byTenant[tenant], w.Of(nil, []string{tenant}))
			done.Events += pass.Events
			done.Found += pass.Found
			if err != nil {
				return done, fmt.Errorf("re-check: %w", err)
			}
		}
	}
	return done, nil
}

// tenant goes through the events that are stored under one name of a tenant.
func (r Rechecker) tenant(ctx context.Context, tenant string, values []privacy.Withheld, w leak.Set) (privacy.Recheck, error) {
	pass, err := privacy.Of(r.Ledger).LastRecheck(ctx, tenant, privacy.FingerprintSet(values))
	if err != nil {
		return pass, err
	}
	if pass.Pass == 0 || pass.Finished {
		pass = privacy.Recheck{Tenant: tenant, Fingerprints: pass.Fingerprints, Pass: pass.Pass + 1}
	} else {
		r.Log.Info("going on with a re-check that was cut off", "events", pass.Events)
	}
	var found []privacy.Reintroduction
	saved := pass.Events
	err = privacy.Of(r.Ledger).EventTexts(ctx, tenant, pass.Place, func(e privacy.EventText) error {
		pass.Events++
		if hit, ok := look(w, tenant, e); ok {
			pass.Found++
			found = append(found, hit)
			if r.Found != nil {
				r.Found(hit)
			}
		}
		pass.Place = e.Place
		// A place whose session is a withheld value is not to be written down.
		if pass.Events-saved < r.Every || len(w.InWord([]byte(e.Place.Session))) > 0 {
			return nil
		}
		err := privacy.Of(r.Ledger).SaveRecheck(ctx, pass, found)
		found, saved = nil, pass.Events
		return err
	})
	if err != nil {
		return pass, err
	}
	pass.Place, pass.Finished = privacy.Place{}, true
	return pass, privacy.Of(r.Ledger).SaveRecheck(ctx, pass, found)
}

// look says what an event brings back, by the first value that is found in it.
func look(w leak.Set, tenant string, e privacy.EventText) (privacy.Reintroduction, bool) {
	found := w.InPayload([]byte(e.Data))
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
