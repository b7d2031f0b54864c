package shards_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/recheck"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// A person has items in a session of each of two shards. Another person's session names one of the texts.
type person struct {
	*shardRig
	key      schema.Key
	bucket   *texts.Bucket
	sessions [2]string // by shard, of four streams that the two shards have in turn
	facts    int
}

func newPerson(r *shardRig) *person {
	r.t.Helper()
	p := &person{shardRig: r}
	ring, err := keyfile.Open(r.data, "acme")
	if err == nil {
		p.key = ring.Current()
		p.bucket, err = texts.Open(r.t.Context(), r.js)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range 64 {
		session := fmt.Sprint("person-", i)
		subject := schema.Subject{Tenant: "acme", Runtime: schema.DefaultRuntime, Bucket: schema.Bucket(session), Object: "item", Verb: "added"}
		p.sessions[schema.Partitions(4).Of(subject.String())%2] = session
	}
	return p
}

// event returns the event of a fact in a session. whose is the resource, or empty.
func (p *person) event(session, whose string, fact schema.Fact) *schema.Event {
	p.t.Helper()
	p.facts++
	of := schema.Correlation{Tenant: "acme", SessionID: session, TurnID: "turn-" + session, ResourceID: whose}
	e, err := schema.NewEvent(fact, fmt.Sprint("person-", p.facts), "urn:test:"+session, time.Date(2026, 1, 2, 3, 4, p.facts, 0, time.UTC), of)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// publish publishes the event of a fact.
func (p *person) publish(session, whose string, fact schema.Fact) schema.Message {
	p.t.Helper()
	m := p.event(session, whose, fact).Binary()
	p.send(m)
	return m
}

// send publishes a message, also one that the stream has.
func (p *person) send(m schema.Message) {
	p.t.Helper()
	header := nats.Header(maps.Clone(m.Header))
	header.Del(nats.MsgIdHdr)
	if _, err := p.js.PublishMsg(p.t.Context(), &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}); err != nil {
		p.t.Fatal(err)
	}
}

// item publishes an item, which names a text unless that is empty.
func (p *person) item(session, whose, id, title, text string) schema.Message {
	p.t.Helper()
	item := schema.Item{ItemID: id, ContextKind: "note", Title: title}
	if text != "" {
		item.ContentMode, item.ContentRef = schema.ContentRef, schema.TextRef(p.key.Digest([]byte(text)))
	}
	return p.publish(session, whose, &schema.ItemAdded{Item: item})
}

// redact publishes a redaction of a value.
func (p *person) redact(session, id, value string) {
	p.t.Helper()
	hasher, err := fingerprint.New(p.key)
	if err != nil {
		p.t.Fatal(err)
	}
	withheld, _ := hasher.Of([]byte(value))
	fact := &schema.RedactionApplied{Common: schema.Common{PolicyRefs: schema.Refs("policy:p")}}
	fact.RedactionID, fact.TargetRef, fact.Reason, fact.RedactionState = id, "i-1", "secret", schema.RedactionMasked
	fact.Fingerprints = []schema.Fingerprint{withheld}
	p.publish(session, "", fact)
}

// erases removes the content of a person from the sessions of both shards. Then all tables are those of
// one machine with the same streams and the same erasure.
func (r *shardRig) erases() {
	r.t.Helper()
	p := newPerson(r)
	ctx, first, second := r.t.Context(), p.sessions[0], p.sessions[1]
	w := texts.NewWriter(p.bucket, "acme", p.key)
	for _, text := range []string{"own text", "shared text"} {
		if err := w.Write(ctx, p.key.Digest([]byte(text)), text); err != nil {
			r.t.Fatal(err)
		}
	}
	p.item(first, "user-812", "note-1", "lives in Rotterdam", "own text")
	p.item(first, "user-1", "note-2", "is of another in Rotterdam", "shared text")
	repeated := p.item(second, "user-812", "note-3", "is of the person", "shared text")
	p.send(repeated)
	p.publish(second, "user-1", &schema.AssemblyCreated{AssemblyID: "a-1", CallID: "c-1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b-1", ItemRefs: schema.Refs("note-3")}}})
	broken := p.item(second, "user-812", "note-4", "is of the person", "")
	broken.Data = broken.Data[:len(broken.Data)-1]
	p.send(broken)
	if err := w.Settle(ctx); err != nil {
		r.t.Fatal(err)
	}
	for range 2 { // the value is recorded before its redactions
		r.must("project", "--until-caught-up")
		r.projectPlain(4)
		if p.facts < 7 {
			p.redact(second, "redaction-1", "Rotterdam")
			p.redact(first, "redaction-2", "Rotterdam")
		}
	}
	p.looksAgain()

	project := r.projecting()
	of := []string{"erase", "--subject", "user-812", "--policy-ref", "policy:gdpr-17", "--yes", "-o", "json"}
	if _, stderr, code := r.run(append(of, "--reason", "left Rotterdam")...); code != cli.ExitFailed || !strings.Contains(stderr, "the reason contains a value that redaction redaction-") {
		r.t.Errorf("a reason that another shard withholds ended with %d: %s", code, stderr)
	}
	p.revokes()
	want := erasure.Erasable{Events: 3, Repeats: 1, Refused: 1, Copies: 1, Texts: 1}
	for _, more := range [][]string{{"--dry-run"}, {"--reason", "left Rotterdam"}} {
		var done erasure.Erased
		out := r.must(append(of, more...)...)
		if err := json.Unmarshal([]byte(out), &done); err != nil || done.Erasable != want || len(more) == 2 && len(done.ErasureIDs) != 3 {
			r.t.Errorf("%v printed %s: %v", more, out, err)
		}
	}
	if out := r.must(append(of, "--reason", "left Rotterdam")...); !strings.Contains(out, `"events":0`) || strings.Count(out, `"erasure_id":`) != 3 {
		r.t.Errorf("a second erasure printed %s", out)
	}
	if err := project.Process.Signal(os.Interrupt); err != nil || project.Code(r.t, time.Minute) != cli.ExitDone {
		r.t.Errorf("project: %v %s", err, &project.Messages)
	}
	for text, want := range map[string]bool{"own text": false, "shared text": true} {
		if there, err := p.bucket.Has(ctx, texts.Name{Tenant: "acme", Digest: p.key.Digest([]byte(text))}); err != nil || there != want {
			r.t.Errorf("the bucket has %q: %v %v", text, there, err)
		}
	}
	p.sameErased()
}

// looksAgain re-checks all shards and one machine. The value of the first was redacted on the second, too.
func (p *person) looksAgain() {
	p.t.Helper()
	out, stderr, code := p.run("project", "--recheck")
	if code != cli.ExitNotVerified || !strings.Contains(out, "note-1 of tenant acme holds a value that policy:p withholds") {
		p.t.Errorf("the re-check ended with %d: %s%s", code, out, stderr)
	}
	again := recheck.Rechecker{Ledger: p.plain, Keys: cli.KeysIn(p.data)}
	if done, err := again.Run(p.t.Context()); err != nil || done.Found != 2 {
		p.t.Errorf("the re-check of one machine found %+v: %v", done, err)
	}
	p.must("rebuild", "--compare-only") // a redaction changes no earlier event of another stream
	p.sameOutput(",urn:test:"+p.sessions[1]+",1,1,1,", "query", "duplicates", "-o", "csv")
	p.sameOutput("check_redaction_reintroduced,2,", "query", "checks", "-o", "csv")
}

// revokes takes back both redactions of one value, which are on two shards.
func (p *person) revokes() {
	p.t.Helper()
	if out := p.must("redaction", "revoke", "redaction-1", "--dry-run"); !strings.Contains(out, "still in force for the same value: redaction-2") {
		p.t.Errorf("a dry run printed %s", out)
	}
	out := p.must("redaction", "revoke", "redaction-1", "--same-value", "--reason", "a town", "--policy-ref", "policy:review")
	if strings.Count(out, "revoked: ") != 2 {
		p.t.Errorf("a revocation printed %s", out)
	}
}

// sameErased compares all tables with one machine, from which the same person was erased.
func (p *person) sameErased() {
	p.t.Helper()
	p.projectPlain(4)
	ring, err := keyfile.ReadRing(p.data)
	if err != nil {
		p.t.Fatal(err)
	}
	e := erasure.Erasure{
		JetStream: p.js, Tables: shardmap.Plain(p.plain), Ring: ring, Subject: ledger.Subject{Kind: "resource", ID: "user-812"},
		Reason: "left Rotterdam", PolicyRefs: []string{"policy:gdpr-17"},
	}
	if done, err := e.Run(p.t.Context()); err != nil || done.Events != 3 || len(done.ErasureIDs) != 0 {
		p.t.Errorf("erased %+v on one machine: %v", done, err)
	}
	all := p.ledgers().All()
	for _, table := range ledger.Tables() {
		rows, digest := digests(p.t, all, table)
		wantRows, want := digests(p.t, []*ledger.Ledger{p.plain}, table)
		if rows != wantRows || digest != want {
			p.t.Errorf("after an erasure the shards have %d rows of %s, and one machine has %d", rows, table, wantRows)
		}
	}
	p.sameOutput(`"expired"`, "window", "--turn", "turn-"+p.sessions[1], "--session", p.sessions[1], "-o", "json")
	p.sameOutput(",expired,", "why", "--turn", "turn-"+p.sessions[1], "--item", "note-3", "--session", p.sessions[1], "-o", "csv")
	p.sameOutput("left Rotterdam", "query", "erasures")
	p.sameOutput("check_redaction_reintroduced,0,", "query", "checks", "-o", "csv") // both redactions were revoked
	key := strings.TrimSpace(p.must("proof", "keygen"))
	for _, session := range p.sessions {
		out := filepath.Join(p.data, "pack-"+session)
		if said := p.must("evidence", "export", "--session", session, "--unrecorded", "--out", out, "-o", "json"); !strings.Contains(said, `"erased":`) || strings.Contains(said, `"erased":0`) {
			p.t.Errorf("the pack of session %s has %s", session, said)
		}
		p.must("evidence", "verify", out, "--key", key)
	}
}

// retains limits the streams of both shards.
func (r *shardRig) retains() {
	r.t.Helper()
	r.must("retention", "set", "--bytes", "1KiB")
	before := r.must("retention", "show")
	out := r.must("retention", "run")
	for _, name := range []string{"CTX_1", "CTX_2"} { // of two shards, each with several commits
		if !strings.Contains(before, name+": begins at sequence 1 ") || !strings.Contains(out, name+": removed ") || strings.Contains(out, name+": removed 0 ") {
			r.t.Errorf("the retention printed %s and before %s", out, before)
		}
	}
	r.ages()
}

// ages removes the decisions of old sessions from both shards. A session goes whole, or it stays as it is.
func (r *shardRig) ages() {
	r.t.Helper()
	bucket, err := lease.OpenBucket(r.t.Context(), r.js)
	if err == nil { // an age that no command accepts
		_, err = bucket.PutString(r.t.Context(), "retention.policy", `{"age_seconds":0,"bytes":1,"after_backup":false,"content_age_seconds":1,"decision_age_seconds":1}`)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	rows := func(l *ledger.Ledger) (n map[string]uint64) {
		r.t.Helper()
		if err := l.SQL(nil).Conn.QueryRow(r.t.Context(), "SELECT sumMap(map(session_id, toUInt64(1))) FROM items FINAL").Scan(&n); err != nil {
			r.t.Fatal(err)
		}
		return n
	}
	var before []map[string]uint64
	for _, l := range r.ledgers().All() {
		before = append(before, rows(l))
	}
	out := r.must("retention", "run")
	for i, l := range r.ledgers().All() {
		after := rows(l)
		for session, n := range after {
			if n != before[i][session] {
				r.t.Errorf("shard %d has %d of %d rows of session %s: %s", i+1, n, before[i][session], session, out)
			}
		}
		if len(after) == len(before[i]) {
			r.t.Errorf("no session has left shard %d: %s", i+1, out)
		}
	}
}
