package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// TestTheTellingThatReachesFurthestCounts: a telling that ends earlier counts no more, and counts again
// when it goes on. A batch that is written and committed again changes nothing. Tenants with the same
// session have nothing to do with each other.
func TestTheTellingThatReachesFurthestCounts(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	incarnation, last := uuid.New(), uint64(0)
	const log = "urn:ctxledger:import:codex:s'1\\"
	tell := func(tenant, telling string, from, to int) {
		t.Helper()
		b := &Batch{Range: Range{Incarnation: incarnation, First: last + 1, Digest: [32]byte{byte(last)}}}
		for at := from; at <= to; at++ {
			last++
			b.Last, b.Messages, b.RecordedAt = last, b.Messages+1, recordedAt.Add(time.Duration(last)*time.Second)
			var fact schema.Fact = &schema.UsageRecorded{CallID: fmt.Sprint("call-", at)}
			if at == from {
				fact = &schema.ScopeOpened{RunID: "s", RootRunID: "s", ScopeKind: "session"}
			}
			ids := schema.Correlation{Tenant: tenant, Agent: "a", SessionID: "s", ThreadID: "s", RunID: "s", RootRunID: "s"}
			e, err := schema.NewEvent(fact, fmt.Sprint(at), log+telling, recordedAt.Add(time.Duration(at)*time.Second), ids)
			if err != nil {
				t.Fatal(err)
			}
			b.Add(e, fact, Position{incarnation, last, b.RecordedAt})
		}
		for range 2 {
			if err := l.Write(t.Context(), b, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		rows, err := l.conn.Query(t.Context(), "SELECT tenant, source, since FROM retold FINAL ORDER BY ALL")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var tenant, source string
			var since time.Time
			if err := rows.Scan(&tenant, &source, &since); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s since %d", tenant, strings.TrimPrefix(source, log), int(since.Sub(recordedAt).Seconds())))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q do not count, want %q", got, want)
		}
	}
	tell("acme", "", 0, 2) // seconds 1 to 3 of recording
	check()
	tell("globex", ";r2;bare;x", 0, 9) // to 13
	check()
	tell("acme", ";r2;bare;x", 0, 2) // to 16
	check("acme  since 14")
	tell("acme", ";r2;text;x", 0, 2) // to 19
	check("acme  since 14", "acme ;r2;bare;x since 17")
	tell("acme", ";r2;bare;x", 3, 4) // goes on, to 21
	check("acme  since 14", "acme ;r2;text;x since 14")
	tell("acme", ";r2;text;x", 3, 4)
	check("acme  since 14", "acme ;r2;bare;x since 17")
	tell("acme", ";r3;bare;x", 0, 3) // a log that was cut
	check("acme  since 14", "acme ;r2;bare;x since 17", "acme ;r3;bare;x since 14")
	tell("initech", "", 3, 5)
	tell("initech", ":from:b;r2;bare;x", 4, 6)
	tell("initech", ":from:c;r2;bare;x", 2, 4)
	check("acme  since 14", "acme ;r2;bare;x since 17", "acme ;r3;bare;x since 14")
	tell("initech", ":from:a;r2;bare;x", 3, 5)
	check("acme  since 14", "acme ;r2;bare;x since 17", "acme ;r3;bare;x since 14", "initech  since 37")
	tell("acme", ";r3;bare;x", 4, 4)
	retold := []string{"acme  since 14", "acme ;r2;bare;x since 17", "acme ;r2;text;x since 24", "initech  since 37"}
	check(retold...)
	tell("initech", ";r2;bare;x", 4, 5) // the whole log tells the call 5 of two slices better
	check(append(retold, "initech :from:a;r2;bare;x#call-5 since 42", "initech :from:b;r2;bare;x#call-5 since 42")...)
}
