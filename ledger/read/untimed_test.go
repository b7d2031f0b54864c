package read_test

import (
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/google/uuid"
)

// TestSessionsWithoutTimes: facts of a log without times have the first microseconds of 1970. Their
// session, turns and tasks have no time, come last, and keep their order.
func TestSessionsWithoutTimes(t *testing.T) {
	t.Parallel()
	l := ledgertest.Open(t)
	p := &projected{t: t, ledger: l}
	stream := uuid.New()
	for _, table := range []string{"events", "calls"} {
		p.exec(`INSERT INTO %s (incarnation, stream_seq, recorded_at, event_time, tenant, session_id, thread_id, turn_id, task_id%s)
			SELECT '%s', number, now(), if(session_id = 'timed', toDateTime64('2026-03-01', 9, 'UTC'), fromUnixTimestamp64Micro(number)), 'acme',
				['first', 'timed', 'second'][number %% 3 + 1] AS session_id, 'main', concat('turn-', toString(9 - number)), concat('task of ', session_id)%s
			FROM numbers(6)`, table, map[string]string{"calls": ", call_id"}[table], stream, map[string]string{"calls": ", toString(number)"}[table])
	}
	for _, c := range []struct {
		query, columns string
		arguments      map[string]string
		want           string
	}{
		{"sessions", "session_id, toString(ended_at)", nil, "[[timed 2026-03-01 00:00:00.000000000] [first NULL] [second NULL]]"},
		{"sessions", "session_id, toString(started_at)", map[string]string{"limit": "1", "before": "1970-01-01T00:00:00Z", "before_tenant": "acme", "before_session": "first"}, "[[second NULL]]"},
		{"sessions", "session_id", map[string]string{"before": "2026-03-01T00:00:00Z", "before_tenant": "acme", "before_session": "timed"}, "[[first] [second]]"},
		{"turns", "turn_id, toString(started_at)", map[string]string{"session_id": "first"}, "[[turn-9 NULL] [turn-6 NULL]]"},
		{"turn-sessions", "session_id, toString(first_at), toString(last_at)", map[string]string{"turn_id": "turn-9"}, "[[first NULL NULL]]"},
		{"turn-sessions", "session_id, toString(first_at)", map[string]string{"turn_id": "turn-8"}, "[[timed 2026-03-01 00:00:00.000000000]]"},
		{"tasks", "task_id, toString(started_at), toString(ended_at)", map[string]string{"session_id": "second"}, "[[task of second NULL NULL]]"},
	} {
		q, err := queries.Get(c.query)
		if err != nil {
			t.Fatal(err)
		}
		values, err := q.Bind(c.arguments)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rows(t, l, "SELECT "+c.columns+" FROM ("+q.SQL+")", values)); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.query, c.arguments, got, c.want)
		}
	}
}
