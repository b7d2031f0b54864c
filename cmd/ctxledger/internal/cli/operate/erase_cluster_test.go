package operate_test

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/recheck"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

// A person has items in a session of each of two shards. Another person's session names one of the texts.
type person struct {
	*shardRig
	*shardtest.Person
	bucket *texts.Bucket
}

func newPerson(r *shardRig) *person {
	r.T.Helper()
	bucket, err := texts.Open(r.T.Context(), r.JS)
	if err != nil {
		r.T.Fatal(err)
	}
	return &person{r, shardtest.NewPerson(r.Rig), bucket}
}

// erases removes the content of a person from the sessions of both shards. Then all tables are those of
// one machine with the same streams and the same erasure.
func (r *shardRig) erases() {
	r.T.Helper()
	p := newPerson(r)
	ctx, first, second := r.T.Context(), p.Sessions[0], p.Sessions[1]
	w := texts.NewWriter(p.bucket, "acme", p.Key)
	for _, text := range []string{"own text", "shared text"} {
		if err := w.Write(ctx, p.Key.Digest([]byte(text)), text); err != nil {
			r.T.Fatal(err)
		}
	}
	p.Item(first, "user-812", "note-1", "lives in Rotterdam", "own text")
	p.Item(first, "user-1", "note-2", "is of another in Rotterdam", "shared text")
	repeated := p.Item(second, "user-812", "note-3", "is of the person", "shared text")
	p.Send(repeated)
	p.Publish(second, "user-1", &schema.AssemblyCreated{AssemblyID: "a-1", CallID: "c-1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b-1", ItemRefs: schema.Refs("note-3")}}})
	broken := p.Item(second, "user-812", "note-4", "is of the person", "")
	broken.Data = broken.Data[:len(broken.Data)-1]
	p.Send(broken)
	if err := w.Settle(ctx); err != nil {
		r.T.Fatal(err)
	}
	for range 2 { // the value is recorded before its redactions
		r.Must("project", "--until-caught-up")
		r.ProjectPlain()
		if p.Facts < 7 {
			p.Redact(second, "redaction-1", "Rotterdam")
			p.Redact(first, "redaction-2", "Rotterdam")
		}
	}
	p.looksAgain()

	project := r.Projecting()
	of := []string{"erase", "--subject", "user-812", "--policy-ref", "policy:gdpr-17", "--yes", "-o", "json"}
	if _, stderr, code := r.Run(append(of, "--reason", "left Rotterdam")...); code != cli.ExitFailed || !strings.Contains(stderr, "the reason contains a value that redaction redaction-") {
		r.T.Errorf("a reason that another shard withholds ended with %d: %s", code, stderr)
	}
	p.revokes()
	want := erasure.Erasable{Events: 3, Repeats: 1, Refused: 1, Copies: 1, Texts: 1}
	for _, more := range [][]string{{"--dry-run"}, {"--reason", "left Rotterdam"}} {
		var done erasure.Erased
		out := r.Must(append(of, more...)...)
		if err := json.Unmarshal([]byte(out), &done); err != nil || done.Erasable != want || len(more) == 2 && len(done.ErasureIDs) != 3 {
			r.T.Errorf("%v printed %s: %v", more, out, err)
		}
	}
	if out := r.Must(append(of, "--reason", "left Rotterdam")...); !strings.Contains(out, `"events":0`) || strings.Count(out, `"erasure_id":`) != 3 {
		r.T.Errorf("a second erasure printed %s", out)
	}
	if err := project.Process.Signal(os.Interrupt); err != nil || project.Code(r.T, time.Minute) != cli.ExitDone {
		r.T.Errorf("project: %v %s", err, &project.Messages)
	}
	for text, want := range map[string]bool{"own text": false, "shared text": true} {
		if there, err := p.bucket.Has(ctx, texts.Name{Tenant: "acme", Digest: p.Key.Digest([]byte(text))}); err != nil || there != want {
			r.T.Errorf("the bucket has %q: %v %v", text, there, err)
		}
	}
	p.sameErased()
}

// looksAgain re-checks all shards and one machine. The value of the first was redacted on the second, too.
func (p *person) looksAgain() {
	p.T.Helper()
	out, stderr, code := p.Run("project", "--recheck")
	if code != cli.ExitNotVerified || !strings.Contains(out, "note-1 of tenant acme holds a value that policy:p withholds") {
		p.T.Errorf("the re-check ended with %d: %s%s", code, out, stderr)
	}
	again := recheck.Rechecker{Ledger: p.Plain, Keys: cli.KeysIn(p.Data)}
	if done, err := again.Run(p.T.Context()); err != nil || done.Found != 2 {
		p.T.Errorf("the re-check of one machine found %+v: %v", done, err)
	}
	p.Must("rebuild", "--compare-only") // a redaction changes no earlier event of another stream
	p.SameOutput(",urn:test:"+p.Sessions[1]+",1,1,1,", "query", "duplicates", "-o", "csv")
	p.SameOutput("check_redaction_reintroduced,2,", "query", "checks", "-o", "csv")
}

// revokes takes back both redactions of one value, which are on two shards.
func (p *person) revokes() {
	p.T.Helper()
	if out := p.Must("redaction", "revoke", "redaction-1", "--dry-run"); !strings.Contains(out, "still in force for the same value: redaction-2") {
		p.T.Errorf("a dry run printed %s", out)
	}
	out := p.Must("redaction", "revoke", "redaction-1", "--same-value", "--reason", "a town", "--policy-ref", "policy:review")
	if strings.Count(out, "revoked: ") != 2 {
		p.T.Errorf("a revocation printed %s", out)
	}
}

// sameErased compares all tables with one machine, from which the same person was erased.
func (p *person) sameErased() {
	p.T.Helper()
	p.ProjectPlain()
	ring, err := keyfile.ReadRing(p.Data)
	if err != nil {
		p.T.Fatal(err)
	}
	e := erasure.Erasure{
		JetStream: p.JS, Tables: shardmap.Plain(p.Plain), Ring: ring, Subject: ledger.Subject{Kind: "resource", ID: "user-812"},
		Reason: "left Rotterdam", PolicyRefs: []string{"policy:gdpr-17"},
	}
	if done, err := e.Run(p.T.Context()); err != nil || done.Events != 3 || len(done.ErasureIDs) != 0 {
		p.T.Errorf("erased %+v on one machine: %v", done, err)
	}
	all := p.Ledgers().All()
	for _, table := range ledger.Tables() {
		rows, digest := shardtest.Digests(p.T, all, table)
		wantRows, want := shardtest.Digests(p.T, []*ledger.Ledger{p.Plain}, table)
		if rows != wantRows || digest != want {
			p.T.Errorf("after an erasure the shards have %d rows of %s, and one machine has %d", rows, table, wantRows)
		}
	}
	p.SameOutput(`"expired"`, "window", "--turn", "turn-"+p.Sessions[1], "--session", p.Sessions[1], "-o", "json")
	p.SameOutput(",expired,", "why", "--turn", "turn-"+p.Sessions[1], "--item", "note-3", "--session", p.Sessions[1], "-o", "csv")
	p.SameOutput("left Rotterdam", "query", "erasures")
	p.SameOutput("check_redaction_reintroduced,0,", "query", "checks", "-o", "csv") // both redactions were revoked
	key := strings.TrimSpace(p.Must("proof", "keygen"))
	for _, session := range p.Sessions {
		out := filepath.Join(p.Data, "pack-"+session)
		if said := p.Must("evidence", "export", "--session", session, "--unrecorded", "--out", out, "-o", "json"); !strings.Contains(said, `"erased":`) || strings.Contains(said, `"erased":0`) {
			p.T.Errorf("the pack of session %s has %s", session, said)
		}
		p.Must("evidence", "verify", out, "--key", key)
	}
}

// retains limits the streams of both shards.
func (r *shardRig) retains() {
	r.T.Helper()
	r.Must("retention", "set", "--bytes", "1KiB")
	before := r.Must("retention", "show")
	out := r.Must("retention", "run")
	for _, name := range []string{"CTX_1", "CTX_2"} { // of two shards, each with several commits
		if !strings.Contains(before, name+": begins at sequence 1 ") || !strings.Contains(out, name+": removed ") || strings.Contains(out, name+": removed 0 ") {
			r.T.Errorf("the retention printed %s and before %s", out, before)
		}
	}
	r.ages()
}

// ages removes the decisions of old sessions from both shards. A session goes whole, or it stays as it is.
func (r *shardRig) ages() {
	r.T.Helper()
	bucket, err := lease.OpenBucket(r.T.Context(), r.JS)
	if err == nil { // an age that no command accepts
		_, err = bucket.PutString(r.T.Context(), "retention.policy", `{"age_seconds":0,"bytes":1,"after_backup":false,"content_age_seconds":1,"decision_age_seconds":1}`)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	rows := func(l *ledger.Ledger) (n map[string]uint64) {
		r.T.Helper()
		if err := l.SQL(nil).Conn.QueryRow(r.T.Context(), "SELECT sumMap(map(session_id, toUInt64(1))) FROM items FINAL").Scan(&n); err != nil {
			r.T.Fatal(err)
		}
		return n
	}
	var before []map[string]uint64
	for _, l := range r.Ledgers().All() {
		before = append(before, rows(l))
	}
	out := r.Must("retention", "run")
	for i, l := range r.Ledgers().All() {
		after := rows(l)
		for session, n := range after {
			if n != before[i][session] {
				r.T.Errorf("shard %d has %d of %d rows of session %s: %s", i+1, n, before[i][session], session, out)
			}
		}
		if len(after) == len(before[i]) {
			r.T.Errorf("no session has left shard %d: %s", i+1, out)
		}
	}
}
