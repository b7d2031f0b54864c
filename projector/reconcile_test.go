package projector

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

// A table that lost its newest rows, or all rows, gets them back from the stream. The log
// reports the repair.
func TestTableOlderThanCommits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ table, harm string }{
		{"events", "DELETE FROM events WHERE stream_seq > 30"},
		{"log_items", "TRUNCATE TABLE log_items"},
		{"quarantine", "DELETE FROM quarantine WHERE stream_seq BETWEEN 50 AND 75"},
		{"duplicates", "ALTER TABLE duplicates DROP PARTITION ID 'all'"},
	} {
		t.Run(c.table, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publishMix(0, 75)
			f.project()
			harm := c.harm
			if strings.Contains(harm, "PARTITION") {
				var id string
				f.must(f.sql.QueryRow(t.Context(), "SELECT any(partition_id) FROM system.parts WHERE database = currentDatabase() AND table = 'duplicates'").Scan(&id))
				harm = fmt.Sprintf("ALTER TABLE duplicates DROP PARTITION ID '%s'", id)
			}
			f.must(f.sql.Exec(t.Context(), harm))
			log := &logbook{}
			p := f.projector()
			p.config.Log = logTo(log)
			if err := f.run(p); err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			f.exact("") // the remaining rows are not stored twice
			if text := log.String(); !strings.Contains(text, `"event":"tables_behind"`) {
				t.Errorf("the log does not say so:\n%s", text)
			}
			log = &logbook{}
			p = f.projector()
			p.config.Log = logTo(log)
			f.must(f.run(p))
			if text := log.String(); strings.Contains(text, "tables_behind") {
				t.Errorf("it is found again:\n%s", text)
			}
		})
	}
}

// A table lost its rows, and a message of their range was deleted by hand. The range is derived again without the
// message. Its event still counts: a repeat of it stays a duplicate, and another event of its id stays refused.
func TestRepeatsOfADeletedMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, e := range []*schema.Event{projectortest.Event(0, 0), projectortest.Event(1, 0), projectortest.Event(1, 0), projectortest.Event(1, 9)} {
		f.publish(e.Binary())
	}
	f.project()
	f.exact("")
	f.must(f.stream().DeleteMsg(t.Context(), 2))
	f.must(f.sql.Exec(t.Context(), "TRUNCATE TABLE log_items"))
	f.project()
	for table, want := range map[string]string{"events": "[1,2]", "duplicates": "[3]", "quarantine": "[4]", "log_items": "[1]"} {
		var got string
		f.must(f.sql.QueryRow(t.Context(), "SELECT toString(arraySort(groupArray(stream_seq))) FROM "+table).Scan(&got))
		if got != want {
			t.Errorf("%s has the messages %s, want %s", table, got, want)
		}
	}
}

// The rows of a range and its row of commits were removed by hand, and the server still knows
// their tokens.
func TestTokensOfRowsThatAreGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 75)
	f.project()
	for _, table := range []string{"events", "log_items", "quarantine", "duplicates"} {
		f.must(f.sql.Exec(t.Context(), "DELETE FROM "+table+" WHERE stream_seq > 40"))
	}
	f.must(f.sql.Exec(t.Context(), "DELETE FROM commits WHERE last_seq > 40"))
	f.project()
	f.exact("")
	f.exact("FINAL")
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }
