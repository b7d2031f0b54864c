package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/recheck"
	"github.com/ctxledger/ctxledger/schema"
)

// planted publishes a value in many places, and then its redaction.
func (f *fixture) planted() (places []uint64) {
	f.t.Helper()
	add := func(e *schema.Event, hit bool) {
		f.publish(e.Binary())
		if hit {
			places = append(places, uint64(f.sent))
		}
	}
	add(projectortest.Event(1, 0), false)
	add(projectortest.Foreign(2, `{"note":"`+projectortest.Escaped(projectortest.Secret)+`"}`), true)
	add(projectortest.Foreign(3, `{"`+projectortest.Secret+`":1}`), true)
	inSession := projectortest.Event(4, 0)
	inSession.SessionID = "session " + projectortest.Secret
	add(inSession, true)
	inExtension := projectortest.Event(5, 0)
	inExtension.Extensions = map[string]string{"note": projectortest.Secret}
	add(inExtension, true)
	inRecord := projectortest.Event(6, 0)
	inRecord.Data = []byte(strings.Replace(string(inRecord.Data), `"`+inRecord.Subject+`"`, `"`+projectortest.Secret+`"`, 1))
	inRecord.Subject = projectortest.Secret
	add(inRecord, true)
	others := projectortest.Foreign(7, `{"note":"`+projectortest.Secret+`"}`)
	others.Tenant = "umbrella"
	add(others, false)
	add(projectortest.Redaction(f.t, 1, projectortest.Secret), false)
	add(projectortest.Event(8, 0), false)
	f.flush()
	return places
}

func TestRecheckFindsWhatWasBeforeItsRedaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	places := f.planted()
	f.must(f.run(f.guarded(new(logbook))))
	var found []uint64
	var said strings.Builder
	r := recheck.Rechecker{Ledger: f.ledger, Keys: projectortest.Keys(t), Every: 2, Found: func(hit privacy.Reintroduction) {
		found = append(found, hit.StreamSeq)
		fmt.Fprintf(&said, "%+v\n", hit)
	}}
	for pass := range 2 {
		found = nil
		got, err := r.Run(t.Context())
		slices.Sort(found)
		if want := (recheck.Rechecked{Events: 8, Found: 5}); err != nil || got != want || !slices.Equal(found, places) {
			t.Errorf("pass %d: found %v, want %v; %+v, %v", pass, found, places, got, err)
		}
	}
	if n := f.count("SELECT count() FROM check_redaction_reintroduced WHERE tenant = 'acme' AND position(problem, 'policy:secrets') > 0"); n != 5 {
		t.Errorf("the standing check lists %d events, want 5", n)
	}
	text := said.String()
	for _, table := range []string{"reintroductions", "rechecks", "check_redaction_reintroduced"} {
		var rows string
		f.must(f.sql.QueryRow(t.Context(), "SELECT toString(groupArray(tuple(*))) FROM "+table).Scan(&rows))
		text += rows
	}
	for _, trace := range projectortest.TracesOf(projectortest.Secret) {
		if strings.Contains(text, trace) {
			t.Errorf("the report holds %q:\n%s", trace, text)
		}
	}
	f.must(f.sql.Exec(t.Context(), "DELETE FROM events WHERE stream_seq = 2"))
	if n := f.count("SELECT count() FROM check_redaction_reintroduced"); n != 4 {
		t.Errorf("after one event was erased, %d are listed, want 4", n)
	}
}

// TestRecheckGoesOn interrupts a pass after every event. All passes together read and find each
// event once.
func TestRecheckGoesOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	places := f.planted()
	f.must(f.run(f.guarded(new(logbook))))
	var got recheck.Rechecked
	for rounds := 1; ; rounds++ {
		ctx, cut := context.WithCancel(t.Context())
		r := recheck.Rechecker{Ledger: f.ledger, Keys: projectortest.Keys(t), Every: 1, Found: func(privacy.Reintroduction) {
			if rounds < 4 {
				cut()
			}
		}}
		var err error
		got, err = r.Run(ctx)
		cut()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || rounds > 10 {
			t.Fatalf("round %d ended with %v", rounds, err)
		}
	}
	if got.Events != 8 || f.count("SELECT uniqExact(stream_seq) FROM reintroductions") != uint64(len(places)) {
		t.Errorf("all passes together: %+v, want 8 events and the places %v", got, places)
	}
}

func TestRecheckWithoutTheKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.planted()
	f.must(f.run(f.guarded(new(logbook))))
	got, err := recheck.Rechecker{Ledger: f.ledger}.Run(t.Context())
	if want := (recheck.Rechecked{UnknownKeys: 1}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
