package ledger

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// TestWritersOfReplicasWaitForAll opens one plain server as two replicas: its tables ignore the quorum.
func TestWritersOfReplicasWaitForAll(t *testing.T) {
	t.Parallel()
	server := Migrated.ClickHouse(t)
	plain := opened(t, server)
	l, err := OpenReplicas(t.Context(), server.ClickHouseDSN(), 2, plain.options.Addr[0], plain.options.Addr[0])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	settings := "SELECT concat(getSetting('insert_quorum')::String, ' ', toString(getSetting('insert_quorum_parallel')), ' ', toString(getSetting('select_sequential_consistency')), ' ', toString(getSetting('mutations_sync')))"
	for want, of := range map[string]*Ledger{"2 true 1 2": l, "0 true 0 1": plain} {
		var got string
		if err := of.conn.QueryRow(t.Context(), settings).Scan(&got); err != nil || got != want {
			t.Errorf("the settings are %q, want %q: %v", got, want, err)
		}
	}
	sent := make(map[string]string)
	for _, s := range l.sender.options.Settings {
		sent[s.Key] = s.Value
	}
	if sent["insert_quorum"] != "2" || sent["insert_quorum_parallel"] != "1" || len(plain.sender.options.Settings) != 1 {
		t.Errorf("inserts have %v; those of a plain ledger have %v", sent, plain.sender.options.Settings)
	}
	for _, of := range []*Ledger{l, plain} {
		for _, table := range []string{"events", tableOfCommits} {
			limit, ordered := of.replicas.ordered(table)
			if inOrder := of == l && table == tableOfCommits; inOrder != (len(ordered) == 1 && ordered[0].Key == "insert_quorum_parallel" && ordered[0].Value == "0") || inOrder != (limit != insertTimeLimit) {
				t.Errorf("%s has the limit %s and %v", table, limit, ordered)
			}
		}
	}
	if err := l.KillInserts(t.Context(), uuid.New()); err == nil || !strings.Contains(err.Error(), "replica "+plain.options.Addr[0]+": wait for the rows of events") {
		t.Errorf("plain tables were fetched from other replicas: %v", err)
	}
	if !Replicated(l) || Replicated(plain) {
		t.Error("a plain ledger has replicas")
	}
}

// TestCommitsWaitForTheirTurn: a commit that the server refuses for an earlier one is sent again.
func TestCommitsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, commitsWait)
}

// commitsWait runs with a clock of its own: the waits take no time.
func commitsWait(t *testing.T) {
	r := &replicas{turn: make(chan struct{}, 1)}
	earlier := &clickhouse.Exception{Code: chsql.CodeEarlierQuorum}
	tries := func(table string, answers ...error) (n int, err error) {
		err = r.inTurn(t.Context(), table, func() error {
			n++
			return answers[min(n, len(answers))-1]
		})
		return n, err
	}
	if n, err := tries(tableOfCommits, earlier, earlier, nil); n != 3 || err != nil {
		t.Errorf("%d tries, %v", n, err)
	}
	if n, err := tries("events", earlier); n != 1 || !errors.Is(err, earlier) {
		t.Errorf("%d tries, %v", n, err)
	}
	if n, err := tries(tableOfCommits, errors.ErrUnsupported, nil); n != 1 || err == nil {
		t.Errorf("%d tries, %v", n, err)
	}
	if n, err := tries(tableOfCommits, earlier); n < 2 || !errors.Is(err, earlier) {
		t.Errorf("%d tries, %v", n, err)
	}
	r.turn <- struct{}{}
	n, err := tries(tableOfCommits, nil)
	if n != 0 || err == nil {
		t.Errorf("%d tries while another commit is written, %v", n, err)
	}
	if _, failed := Failure(err); !failed || !Transient(err) {
		t.Errorf("a commit that waited too long is no failure of ClickHouse that passes: %v", err)
	}
}
