package ask_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

// logItem is an event of the session s-1 in structured mode, with a field of this name. Only
// log_item_id is valid. The session is in the stream CTX_2 of four, on the first of two shards.
func logItem(id, field string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","id":%[1]q,"source":"urn:test","type":"dev.ctxledger.context.log.appended.v1","subject":%[1]q,`+
		`"time":"2026-01-02T03:04:05Z","tenant":"acme","sessionid":"s-1","data":{"event_type":"context.log.appended",`+
		`"schema_version":"1.0.0",%[2]q:%[1]q,"item_type":"message"}}`, id, field)
}

// sendInvalid publishes messages to streams of both shards that will be quarantined.
func (r *shardRig) sendInvalid() {
	r.T.Helper()
	send := func(bucket string, data []byte) {
		if _, err := r.JS.Publish(r.T.Context(), "ctx.v1.acme.unnamed."+bucket+".log.appended", data); err != nil {
			r.T.Fatal(err)
		}
	}
	for i, bucket := range []string{"p8a", "p40", "pff", "p00", "pff"} {
		send(bucket, fmt.Appendf(nil, `{"id":"e-%d",`, i))
		send("p8a", logItem(fmt.Sprint("misspelt-", i), "log_item_idd"))
	}
}

// replayElsewhere replays a message of the second shard unchanged and by an event on the first, and a
// message of the first unchanged.
func (r *shardRig) replayElsewhere() {
	r.T.Helper()
	shards := r.Ledgers().All()
	invalid := r.refusals(shards[1], read.RefusalFilter{Code: string(schema.CodeNotJSON)})[0]
	misspelt := r.refusals(shards[0], read.RefusalFilter{Code: string(schema.CodeRequired)})[0]
	for _, of := range []ledger.Refusal{invalid, misspelt} {
		if _, err := quarantine.Replay(r.T.Context(), r.JS, of); err != nil {
			r.T.Fatal(err)
		}
	}
	e, err := schema.ParseStructured(logItem("fixed", "log_item_id"))
	if err == nil {
		_, err = quarantine.ReplayFixed(r.T.Context(), r.JS, invalid, e)
	}
	if err != nil {
		r.T.Fatal(err)
	}
}

// sameQuarantine compares quarantined messages with one machine.
func (r *shardRig) sameQuarantine() {
	r.T.Helper()
	r.sendInvalid()
	r.Must("project", "--until-caught-up")
	if list := r.Must("quarantine", "list", "-o", "csv"); strings.Count(list, ",not_json,") != 5 || strings.Count(list, ",required,") != 5 {
		r.T.Errorf("without replays the list is\n%s", list)
	}
	r.replayElsewhere()
	r.Must("project", "--until-caught-up")
	r.ProjectPlain()
	for says, args := range map[string][]string{
		`"outcome":"recorded"`: {"query", "quarantine", "-o", "json"},
		"refused":              {"quarantine", "list", "--code", "required"},
		"required":             {"quarantine", "list", "--waiting", "--since", "1d"},
		"not_json":             {"quarantine", "list", "--counts"},
		`"messages":`:          {"query", "quarantine-by-code", "--param", "days=1", "-o", "json"},
		"acme":                 {"quarantine", "list", "--counts", "--tenant", "acme", "-o", "csv"},
	} {
		r.SameOutput(says, args...)
	}
	for _, l := range r.Ledgers().All() {
		found := r.refusals(l, read.RefusalFilter{Code: string(schema.CodeNotJSON)})[0]
		show := []string{"quarantine", "show", fmt.Sprint(found.StreamSeq), "--incarnation", found.Incarnation.String()}
		r.SameOutput("what to do", show...)
		r.SameOutput(`"replays":[`, append(show, "-o", "json")...)
		r.SameOutput(`{"id":"e-`, append(show, "--raw")...)
	}
	r.replaysByCommand()
}

// replaysByCommand replays messages of both shards while a projector runs.
func (r *shardRig) replaysByCommand() {
	r.T.Helper()
	fixed := filepath.Join(r.Data, "fixed.json")
	if err := os.WriteFile(fixed, logItem("fixed-2", "log_item_id"), 0o600); err != nil {
		r.T.Fatal(err)
	}
	waiting := r.refusals(r.Ledgers().All()[1], read.RefusalFilter{Code: string(schema.CodeNotJSON), Waiting: true})
	of := waiting[len(waiting)-1]
	project := r.Projecting()
	if out := r.Must("quarantine", "replay", fmt.Sprint(of.StreamSeq), fixed, "--incarnation", of.Incarnation.String()); !strings.Contains(out, ": recorded\n") {
		r.T.Errorf("a replay by a fixed event printed %q", out)
	}
	list := strings.Count(r.Must("quarantine", "list", "--code", "not_json", "--waiting", "-o", "csv"), "\n") - 1
	out, stderr, code := r.Run("quarantine", "replay", "--code", "not_json")
	if code != cli.ExitRefused || strings.Count(out, ": refused again: ") != list || strings.Count(out, "\n") != list || list < 3 {
		r.T.Errorf("replays of %d messages ended with %d: %s%s", list, code, out, stderr)
	}
	if err := project.Process.Signal(os.Interrupt); err != nil || project.Code(r.T, time.Minute) != cli.ExitDone {
		r.T.Errorf("project: %v %s", err, &project.Messages)
	}
	r.ProjectPlain()
	r.SameOutput("refused", "quarantine", "list")
	r.SameOutput("as sequence ", "quarantine", "show", fmt.Sprint(of.StreamSeq), "--incarnation", of.Incarnation.String())
}

// refusals returns the quarantined messages of one ledger that fit.
func (r *shardRig) refusals(l *ledger.Ledger, f read.RefusalFilter) (list []ledger.Refusal) {
	r.T.Helper()
	err := read.Of(l).Refusals(r.T.Context(), f, func(found ledger.Refusal) error {
		list = append(list, found)
		return nil
	})
	if err != nil || len(list) == 0 {
		r.T.Fatalf("%d messages fit %v: %v", len(list), f, err)
	}
	return list
}
