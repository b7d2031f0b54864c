package projector

import (
	"os"
	"strings"
	"testing"
	"time"
)

// A fault of the matrix is a disturbance of real servers under a projector. The oracle must
// find no error after it; see FAULTS.md.
type fault struct {
	name string
	test func(t *testing.T)
}

var faults = []fault{
	{"projector killed in a batch", killedInABatch},
	{"projector killed in recovery", killedInRecovery},
	{"projector killed mid-send", killedMidSend},
	{"projector killed before the reply", killedBeforeTheReply},
	{"projector killed at random moments", killedAtRandomMoments},
	{"projector stopped past its lease", stoppedPastItsLease},
	{"projector stopped mid-send", stoppedMidSend},
	{"several projectors at the same time", twoAtOnce},
	{"ClickHouse killed mid-insert", clickhouseKilledMidInsert},
	{"ClickHouse killed mid-merge", clickhouseKilledMidMerge},
	{"ClickHouse killed in a backlog", clickhouseKilledInABacklog},
	{"ClickHouse down, and restarted in the backlog", clickhouseAway},
	{"NATS killed while publishing and consuming", natsKilled},
	{"NATS down", natsAway},
	{"cluster of NATS killed", clusterKilled},
	{"reply lost after the commit", replyLostAfterTheCommit},
	{"reply of the journal lost", replyOfTheJournalLost},
	{"slow links", slowLinks},
	{"half-open links", halfOpenLinks},
	{"reset links", resetLinks},
	{"deduplication log deleted", tokenLogDeleted},
	{"deduplication window exhausted", tokenWindowExhausted},
	{"ClickHouse restored from an older copy", clickhouseRestored},
	{"one table older than the rest", tableRestored},
	{"stream restored from an older copy", streamRestored},
	{"lease entry lost", leaseEntryLost},
	{"stream purged ahead of the last commit", purgedAhead},
	{"too many parts", tooManyParts},
	{"memory limit, wrong password, quota", refusedByTheServer},
	{"disk of ClickHouse full", clickhouseDiskFull},
	{"disk of NATS full", natsDiskFull},
	{"invalid events among valid ones", poisonAmongGood},
	{"publisher retries within and after the duplicate window", publisherRetries},
	{"batches at midnight and month end", boundaries},
	{"migration with a backlog", migratedWithABacklog},
}

// TestFaultMatrix injects every fault, with separate servers or a separate database.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			f.test(t)
			t.Logf("%s: done after %s", f.name, time.Since(began).Round(time.Second))
		})
	}
}

func TestEveryFaultIsInTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("FAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n|---|---|---|\n")
	for _, f := range faults {
		line, rest, _ := strings.Cut(table, "\n")
		if table = rest; !strings.HasPrefix(line, "| "+f.name+" |") {
			t.Errorf("the table has %q where %q is done", line, f.name)
		}
	}
	if strings.HasPrefix(table, "|") {
		t.Errorf("the table has more rows: %.100q", table)
	}
}
