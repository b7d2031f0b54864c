package main

import (
	"errors"
	"fmt"
	"strings"

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
	r.t.Helper()
	send := func(bucket string, data []byte) {
		if _, err := r.js.Publish(r.t.Context(), "ctx.v1.acme.unnamed."+bucket+".log.appended", data); err != nil {
			r.t.Fatal(err)
		}
	}
	for i, bucket := range []string{"p8a", "p40", "pff", "p00", "pff"} {
		send(bucket, fmt.Appendf(nil, `{"id":"e-%d",`, i))
		send("p8a", logItem(fmt.Sprint("misspelt-", i), "log_item_idd"))
	}
}

// replayElsewhere replays a message of the second shard by an event on the first, and two messages
// unchanged.
func (r *shardRig) replayElsewhere() {
	r.t.Helper()
	replay := func(l *ledger.Ledger, code schema.Code, do func(ledger.Refusal) error) {
		enough := errors.New("only the first")
		err := read.Of(l).Refusals(r.t.Context(), read.RefusalFilter{Code: string(code)}, func(found ledger.Refusal) error {
			return errors.Join(enough, do(found))
		})
		if err == nil || err.Error() != enough.Error() {
			r.t.Fatalf("replay a message with the code %s: %v", code, err)
		}
	}
	unchanged := func(found ledger.Refusal) error {
		_, err := quarantine.Replay(r.t.Context(), r.js, found)
		return err
	}
	shards := r.ledgers().All()
	replay(shards[1], schema.CodeNotJSON, unchanged)
	replay(shards[0], schema.CodeRequired, unchanged)
	replay(shards[1], schema.CodeNotJSON, func(found ledger.Refusal) error {
		e, err := schema.ParseStructured(logItem("fixed", "log_item_id"))
		if err == nil {
			_, err = quarantine.ReplayFixed(r.t.Context(), r.js, found, e)
		}
		return err
	})
}

// sameQuarantine compares quarantined messages with one machine.
func (r *shardRig) sameQuarantine() {
	r.t.Helper()
	r.sendInvalid()
	r.must("project", "--until-caught-up")
	r.replayElsewhere()
	r.must("project", "--until-caught-up")
	r.projectPlain(4)
	for says, args := range map[string][]string{
		`"outcome":"recorded"`: {"query", "quarantine", "-o", "json"},
		"refused":              {"quarantine", "list", "--code", "required"},
		"required":             {"quarantine", "list", "--waiting", "--since", "1d"},
	} {
		r.sameOutput(says, args...)
	}
}

// sameOutput compares what a command prints with one machine.
func (r *shardRig) sameOutput(says string, args ...string) {
	r.t.Helper()
	got, code := r.printed(r.shards[0].ClickHouseDSN(), "", args)
	want, wantCode := r.printed(r.dsn, "", args)
	if got != want || code != cli.ExitDone || wantCode != cli.ExitDone || !strings.Contains(want, says) {
		r.t.Errorf("%v ended with %d, on one machine with %d, and printed\n%s\nand on one machine\n%s", args, code, wantCode, got, want)
	}
}
