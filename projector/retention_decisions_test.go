package projector

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/retention"
)

// publishSession publishes facts of each type for a session.
func (f *fixture) publishSession(tenant, session string, first int) {
	f.t.Helper()
	for i := range 60 {
		e := projectortest.Golden(first + i)
		e.Tenant, e.SessionID = tenant, session
		f.publish(e.Binary())
	}
	f.flush()
}

// policy sets a policy with ages that no command accepts.
func (f *fixture) policy(text string) {
	f.t.Helper()
	_, err := f.leases().Put(f.t.Context(), "retention.policy", []byte(text))
	f.must(err)
}

// agedTables are the tables whose rows leave with the decisions.
var agedTables = []string{"calls", "decisions", "items", "log_items", "missing", "placements", "replacements", "windows"}

// TestRetentionOfDecisions: the rows of old sessions leave the tables of decisions, for the tenants of the
// policy, and only after their messages. All other rows stay, and a projector with these tables starts.
func TestRetentionOfDecisions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishSession("acme", "old", 0)
	f.publishSession("acme", "young", 1000)
	f.publishSession("beta", "old", 2000)
	f.must(f.run(f.guarded(new(logbook))))
	time.Sleep(3 * time.Second)             // more than the age and a step
	f.publishSession("acme", "young", 3000) // the last commit, whose messages stay in the stream
	f.must(f.run(f.guarded(new(logbook))))
	others, events := f.digests(), f.count("SELECT uniqExact(source, event_id) FROM events")
	for _, table := range agedTables {
		delete(others, table)
	}
	rows := func(tenant, session string) (n uint64) {
		t.Helper()
		for _, table := range agedTables {
			n += f.count(fmt.Sprintf("SELECT count() FROM %s FINAL WHERE tenant = '%s' AND session_id = '%s'", table, tenant, session))
		}
		return n
	}
	old, young, other := rows("acme", "old"), rows("acme", "young"), rows("beta", "old")
	if old == 0 || young == 0 || other == 0 {
		t.Fatalf("%d, %d and %d rows", old, young, other)
	}

	// While the messages are in the stream, nothing leaves.
	const ages = `"content_age_seconds":1,"decision_age_seconds":1,"tenant_content_age_seconds":{"beta":0},"tenant_decision_age_seconds":{"beta":0}`
	f.policy(`{"age_seconds":3600,"bytes":0,"after_backup":false,` + ages + `}`)
	done, err := f.retention().Run(t.Context())
	f.must(err)
	if done.Decisions != 0 || rows("acme", "old") != old {
		t.Errorf("with messages in the stream: %+v", done)
	}
	f.policy(`{"age_seconds":0,"bytes":1,"after_backup":false,` + ages + `}`)
	done, err = f.retention().Run(t.Context())
	f.must(err)
	if n := rows("acme", "old"); n != 0 || done.Decisions < old {
		t.Errorf("%d of %d rows of the old session are left: %+v", n, old, done)
	}
	if n := rows("acme", "young"); n != young {
		t.Errorf("%d rows of the session that goes on, want %d", n, young)
	}
	if n := rows("beta", "old"); n != other {
		t.Errorf("%d rows of the other tenant, want %d", n, other)
	}
	delete(others, "events") // has lost content
	delete(others, "quarantine")
	f.sameTables(others)
	if again, err := f.retention().Run(t.Context()); err != nil || again.Decisions != 0 {
		t.Errorf("the second pass: %+v, %v", again, err)
	}

	// A projector starts. Repeats count once. A rebuild keeps the rows that are left.
	f.publishSession("acme", "old", 0)
	f.must(f.run(f.guarded(new(logbook))))
	if n := f.count("SELECT uniqExact(source, event_id) FROM events"); n != events || rows("acme", "old") != 0 {
		t.Errorf("%d events after they were published again, want %d", n, events)
	}
	// The session that went on leaves, too, and with it the last rows of most tables.
	time.Sleep(3 * time.Second)
	f.publishMix(5000, 30)
	f.must(f.run(f.guarded(new(logbook))))
	_, err = f.retention().Run(t.Context())
	f.must(err)
	if n := rows("acme", "young"); n != 0 || rows("beta", "old") != other {
		t.Errorf("%d rows of the session are left after its end", n)
	}
	f.must(f.run(f.guarded(new(logbook))))
	again := f.rebuild()
	again.CompareOnly = true
	f.rebuilt(again)
	for _, p := range []retention.Policy{
		{AgeSeconds: 3600, DecisionAgeSeconds: 7200}, {AgeSeconds: 3600, ContentAgeSeconds: 7200, DecisionAgeSeconds: 3600},
		{AgeSeconds: 3600, ContentAgeSeconds: 3600, DecisionAgeSeconds: 7200, TenantContent: map[string]int64{"beta": 0}},
		{AgeSeconds: 3600, TenantDecisions: map[string]int64{"beta": 7200}}, {ContentBytes: 1},
	} {
		f.notPolicy(p)
	}
	f.must(retention.WritePolicy(t.Context(), f.leases(), retention.Policy{AgeSeconds: 3600, ContentAgeSeconds: 3600, DecisionAgeSeconds: 3600, TenantDecisions: map[string]int64{"beta": 0}}))
}

// TestRetentionOfContentByBytes: the oldest content leaves the tables of a tenant that has more than its bytes.
func TestRetentionOfContentByBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishSession("acme", "s", 0)
	f.publishSession("beta", "s", 2000)
	f.must(f.run(f.guarded(new(logbook))))
	f.publishMix(5000, 30)
	f.must(f.run(f.guarded(new(logbook))))
	content := func(tenant string) uint64 {
		t.Helper()
		return f.count("SELECT sum(length(data)) FROM events FINAL WHERE session_id = 's' AND tenant = '" + tenant + "' AND event_type NOT IN ('context.redaction.applied', 'context.redaction.revoked', 'context.erasure.applied', 'context.facts.dropped', 'context.envelope.created')")
	}
	acme, beta := content("acme"), content("beta")
	run := func(limits string) retention.Done {
		t.Helper()
		f.policy(`{"age_seconds":0,"bytes":1,"after_backup":false,` + limits + `}`)
		done, err := f.retention().Run(t.Context())
		f.must(err)
		return done
	}
	if done := run(`"content_bytes":10000000`); done.Emptied != 0 || content("acme") != acme {
		t.Errorf("within the limit: %+v", done)
	}
	if done := run(fmt.Sprintf(`"content_bytes":10000000,"tenant_content_bytes":{"beta":%d}`, beta/2)); done.Emptied == 0 || content("beta") > beta/2 || content("acme") != acme {
		t.Errorf("%d of %d bytes are left, want at most the half; %d of %d of the other tenant: %+v", content("beta"), beta, content("acme"), acme, done)
	}
	if done := run(`"content_bytes":1`); done.Emptied == 0 || content("acme") != 0 || content("beta") != 0 {
		t.Errorf("%d bytes are left: %+v", content("acme"), done)
	}
}

// notPolicy checks that a policy is refused.
func (f *fixture) notPolicy(p retention.Policy) {
	f.t.Helper()
	if err := retention.WritePolicy(f.t.Context(), f.leases(), p); !errors.Is(err, retention.ErrPolicy) {
		f.t.Errorf("%+v: %v", p, err)
	}
}
