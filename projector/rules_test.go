package projector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// The newest rules, and rules that only a later program knows.
var newest, newer = fmt.Sprint(uint32(ledger.NewestRules)), fmt.Sprint(uint32(ledger.NewestRules) + 1)

// older changes the ledger and the stream to the state of an older version without a position
// of the rules. If project is true, the published messages are projected by the older rules.
func (f *fixture) older(project func()) {
	f.t.Helper()
	f.describe(func(m map[string]string) { m[streamio.RulesKey] = newest + "@1000000000" })
	project()
	f.describe(func(m map[string]string) { delete(m, streamio.RulesKey) })
	kv, err := lease.OpenBucket(f.t.Context(), f.js)
	f.must(err)
	f.must(kv.Purge(f.t.Context(), schema.EventStream))
	if entry, err := kv.Get(f.t.Context(), lease.KeyOf(schema.EventStream)); err == nil {
		_, err := kv.Put(f.t.Context(), schema.EventStream, entry.Value())
		f.must(err)
		f.must(kv.Purge(f.t.Context(), lease.KeyOf(schema.EventStream)))
	}
}

// describe changes the metadata of the stream.
func (f *fixture) describe(change func(map[string]string)) {
	f.t.Helper()
	config := f.stream().CachedInfo().Config
	config.Metadata = maps.Clone(config.Metadata)
	change(config.Metadata)
	_, err := f.js.UpdateStream(f.t.Context(), config)
	f.must(err)
}

func (f *fixture) said() string { return f.stream().CachedInfo().Config.Metadata[streamio.RulesKey] }

func (f *fixture) ensureRules() []string {
	f.t.Helper()
	changed, err := streamio.EnsureRules(f.t.Context(), f.js, f.ledger, "", slog.New(slog.NewTextHandler(f.t.Output(), nil)))
	f.must(err)
	return changed
}

// contested returns messages on which the rules differ: forged events, one without a tenant,
// and two tenants' events of one source and id.
func contested(first int) []schema.Message {
	forged, nobodys, another := projectortest.Event(first, 0), projectortest.Event(first+1, 0), projectortest.Event(first+2, 1)
	nobodys.Tenant, another.Tenant = "", "zeta"
	return []schema.Message{projectortest.On("zeta", forged), nobodys.Binary(), projectortest.Event(first+2, 0).Binary(), another.Binary(), nobodys.Binary()}
}

func TestRulesHoldFromAPositionOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, m := range contested(0) {
		f.publish(m)
	}
	f.older(func() { f.project() })
	before := f.texts("SELECT concat(toString(stream_seq), ' ', tenant) FROM events FINAL ORDER BY stream_seq")
	if want := "[1 acme 2  3 acme]"; fmt.Sprint(before) != want {
		t.Fatalf("older rules make %v, not %s", before, want)
	}
	if err := f.run(f.projector()); !errors.Is(err, streamio.ErrNoRules) {
		t.Fatalf("without rules: %v", err)
	}
	for _, m := range contested(10) { // not projected yet
		f.publish(m)
	}
	f.flush()
	if changed := f.ensureRules(); len(changed) != 1 || f.said() != newest+"@6" {
		t.Errorf("%v, the metadata says %q", changed, f.said())
	}
	if changed := f.ensureRules(); len(changed) != 0 {
		t.Errorf("the second time: %v", changed)
	}
	f.publish(projectortest.Event(1, 0).Binary()) // the id of an older event, with another tenant
	f.publish(projectortest.Event(2, 0).Binary()) // a repeat across the position
	again := projectortest.Event(2, 1)
	again.Tenant = "zeta" // refused by older rules, because the id belonged to another tenant
	f.publish(again.Binary())
	f.project()
	f.publish(again.Binary())
	f.project()
	for sql, want := range map[string]string{
		"SELECT concat(toString(stream_seq), ' ', tenant) FROM events FINAL WHERE stream_seq < 6 ORDER BY stream_seq":                          fmt.Sprint(before),
		"SELECT concat(toString(stream_seq), ' ', tenant, toString(tenant_absent)) FROM events FINAL WHERE stream_seq > 5 ORDER BY stream_seq": "[7 defaulttrue 8 acmefalse 9 zetafalse 11 acmefalse 13 zetafalse]",
		"SELECT concat(toString(stream_seq), ' ', tenant, ' ', code) FROM quarantine FINAL ORDER BY stream_seq":                                "[4 zeta id_conflict 6 zeta tenant_mismatch]",
		"SELECT concat(toString(stream_seq), ' ', tenant, ' ', toString(first_seq)) FROM duplicates FINAL ORDER BY stream_seq":                 "[5  2 10 default 7 12 acme 3 14 zeta 13]",
		"SELECT concat(toString(projection_version), ' ', toString(first_seq), '-', toString(last_seq)) FROM commits FINAL ORDER BY first_seq": "[3 1-5 " + newest + " 6-13 " + newest + " 14-14]",
		"SELECT toString(count()) FROM events AS e LEFT ANY JOIN log_items AS l USING (incarnation, stream_seq) WHERE e.tenant != l.tenant":    "[0]",
		"SELECT concat(toString(stream_seq), ' ', tenant) FROM log_items FINAL WHERE stream_seq > 5 ORDER BY stream_seq":                       "[7 default 8 acme 9 zeta 11 acme 13 zeta]",
	} {
		if got := fmt.Sprint(f.texts(sql)); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
	f.sameAgain()
}

// TestTheDoorHoldsFromAPositionOn: events that only the newest rules refuse, or only they accept, keep
// the verdict of their position.
func TestTheDoorHoldsFromAPositionOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	messages := func(first int) []schema.Message {
		subject, late := projectortest.Event(first, 0), projectortest.Event(first+1, 0).Binary()
		subject.Subject = "another record"
		late.Header["ce-time"] = []string{strings.ToLower(late.Header["ce-time"][0])}
		loud := projectortest.Redaction(t, first+2, projectortest.Secret)
		loud.SessionID = projectortest.Secret
		short := projectortest.Event(first+4, 0)
		short.Data = append([]byte(`{"content_digest":"hmac-sha256:short",`), short.Data[1:]...)
		expires := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		surface, err := schema.NewEvent(&schema.SurfaceCreated{Surface: schema.Surface{SurfaceID: fmt.Sprint("surface-", first), ExpiresAt: &expires}}, fmt.Sprint("surface-", first), "urn:ctxledger:test", projectortest.Stored, schema.Correlation{Tenant: "acme", SessionID: "s-1"})
		f.must(err)
		surface.Data = []byte(strings.ReplaceAll(string(surface.Data), "2030-01-02T03:04:05Z", "2030-01-02t03:04:05z"))
		return []schema.Message{subject.Binary(), late, projectortest.Event(first+3, 0).Binary(), loud.Binary(), short.Binary(), surface.Binary()}
	}
	f.describe(func(m map[string]string) { m[streamio.RulesKey] = "4@1" })
	for _, m := range messages(0) {
		f.publish(m)
	}
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	f.ensureRules()
	if want := "4@1 " + newest + "@7"; f.said() != want {
		t.Errorf("the metadata says %q, want %q", f.said(), want)
	}
	for _, m := range messages(10) {
		f.publish(m)
	}
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	accepted := f.texts("SELECT toString(stream_seq) FROM events FINAL ORDER BY stream_seq")
	refused := f.texts("SELECT concat(toString(stream_seq), ' ', code) FROM quarantine FINAL ORDER BY stream_seq")
	if fmt.Sprint(accepted, refused) != "[1 3 4 5 8 9 12] [2 attribute 6 type 7 id_mismatch 10 redaction_reintroduced 11 range]" {
		t.Errorf("accepted %v, refused %v", accepted, refused)
	}
	r := f.rebuild()
	r.CompareOnly = true
	if done := f.rebuilt(r); len(done.Compared.Differences) > 0 {
		t.Errorf("a rebuild differs: %+v", done.Compared.Differences)
	}
}

// texts returns the rows of a query with one text column.
func (f *fixture) texts(sql string) (list []string) {
	f.t.Helper()
	rows, err := f.sql.Query(f.t.Context(), sql)
	f.must(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		f.must(rows.Scan(&text))
		list = append(list, text)
	}
	f.must(rows.Err())
	return list
}

// A range that an older projector has begun to write is finished by the older rules.
func TestThePositionIsAboveTheJournal(t *testing.T) {
	t.Parallel()
	for _, point := range []string{pointJournalled, pointWritten, pointCommitted} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publishMix(0, 30)
			f.older(func() {
				f.project()
				for _, m := range contested(100) {
					f.publish(m)
				}
				f.flush()
				f.crash(point, 1)
			})
			for _, m := range contested(200) {
				f.publish(m)
			}
			f.flush()
			f.ensureRules()
			if f.said() != newest+"@36" {
				t.Errorf("the metadata says %q", f.said())
			}
			f.project()
			if got := f.texts("SELECT toString(stream_seq) FROM quarantine FINAL WHERE code = 'tenant_mismatch'"); fmt.Sprint(got) != "[36]" {
				t.Errorf("refused for their tenant: %v", got)
			}
			f.sameAgain()
		})
	}
}

// Edited or lost metadata does not change the projection, and is reported.
func TestRulesThatTheCommitsContradict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, m := range contested(0) {
		f.publish(m)
	}
	f.older(func() { f.project() })
	f.ensureRules()
	for _, m := range contested(10) {
		f.publish(m)
	}
	f.project()
	for i, text := range []string{"", "nonsense", newest + "@3", newest + "@8", newest + "@1000", newest + "@1", newer + "@7"} {
		f.describe(func(m map[string]string) { m[streamio.RulesKey] = text })
		f.publish(projectortest.On("zeta", projectortest.Event(100+i, 0)))
		var log bytes.Buffer
		p := f.projector()
		p.config.Log = slog.New(slog.NewTextHandler(&log, nil))
		f.must(f.run(p))
		if !strings.Contains(log.String(), "event=rules_contradicted") {
			t.Errorf("%q is not said:\n%s", text, log.String())
		}
		if n := f.count("SELECT count() FROM quarantine FINAL WHERE code = 'tenant_mismatch'"); n != uint64(i+2) {
			t.Errorf("%q: %d are refused for their tenant, not %d", text, n, i+2)
		}
		f.sameAgain()
	}
	if changed := f.ensureRules(); len(changed) != 1 || f.said() != newest+"@6" {
		t.Errorf("%v, the metadata says %q", changed, f.said())
	}
}

// All metadata is lost, with the incarnation.
func TestMigrateRestoresLostMetadata(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 20)
	f.older(func() { f.project() })
	f.ensureRules()
	f.publishMix(100, 20)
	f.project()
	incarnation := f.incarnation()
	f.describe(func(m map[string]string) {
		delete(m, streamio.RulesKey)
		delete(m, streamio.IncarnationKey)
	})
	if err := f.run(f.projector()); !errors.Is(err, streamio.ErrNoIncarnation) {
		t.Errorf("without metadata: %v", err)
	}
	_, err := streamio.EnsureStreams(t.Context(), f.js)
	f.must(err)
	f.ensureRules()
	if f.incarnation() != incarnation || f.said() != newest+"@21" {
		t.Errorf("the stream is %s with the rules %q, and was %s", f.incarnation(), f.said(), incarnation)
	}
	f.publishMix(200, 20)
	f.project()
	f.exact("FINAL")
	f.sameAgain()
}

func TestNewerRulesAreNotProjected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 5)
	f.flush()
	f.describe(func(m map[string]string) { m[streamio.RulesKey] = newest + "@1 " + newer + "@3" })
	for what, err := range map[string]error{
		"projector": f.run(f.projector()),
		"migrate":   func() error { _, err := streamio.EnsureRules(t.Context(), f.js, f.ledger, "", nil); return err }(),
		"rebuild": func() error {
			_, err := rebuild.Rebuild{JetStream: f.js, Projector: ForRebuild, Ledger: f.ledger, Timing: quickTiming}.Run(t.Context())
			return err
		}(),
	} {
		if !errors.Is(err, streamio.ErrNewerRules) || !strings.Contains(err.Error(), "version "+newer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := f.count("SELECT count() FROM events"); n != 0 {
		t.Errorf("%d events were projected", n)
	}
	f.describe(func(m map[string]string) { delete(m, streamio.RulesKey) })
	f.must(f.sql.Exec(t.Context(), "INSERT INTO commits (incarnation, first_seq, last_seq, projection_version, writer_rules, recorded_at) SELECT ?, 1, 5, ?, ?, now()", f.incarnation(), ledger.NewestRules+1, ledger.NewestRules+1))
	if err := f.run(f.projector()); !errors.Is(err, streamio.ErrNewerRules) {
		t.Errorf("where only the commits say so: %v", err)
	}
}

// An older projector knows only the old lease key and the old columns.
func TestOlderProjectorsCannotGoOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kv, err := lease.OpenBucket(t.Context(), f.js)
	f.must(err)
	older := func() error {
		_, _, err := lease.Claim{KV: kv, Key: schema.EventStream, Owner: "older", Timing: quickTiming, Log: slog.New(slog.DiscardHandler), Failed: func(string, error) {}}.Acquire(t.Context())
		return err
	}
	if err := older(); !errors.Is(err, lease.ErrEntry) {
		t.Errorf("the old lease of a new stream: %v", err)
	}
	err = f.sql.Exec(t.Context(), "INSERT INTO commits (incarnation, first_seq, last_seq, projection_version, recorded_at) SELECT ?, 1, 5, 3, now()", f.incarnation())
	if err == nil || !strings.Contains(err.Error(), "written_by_rules_4") {
		t.Errorf("an older commit: %v", err)
	}
	f.publishMix(0, 10)
	f.older(func() { f.project() })
	f.ensureRules()
	if err := older(); !errors.Is(err, lease.ErrEntry) {
		t.Errorf("the old lease after migrate: %v", err)
	}
}

// Two migrations run at the same time, under an older and a current projector.
func TestRulesAreSetOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 20)
	f.older(func() { f.project() })
	kv, err := lease.OpenBucket(t.Context(), f.js)
	f.must(err)
	old, held, err := lease.Claim{KV: kv, Key: schema.EventStream, Owner: "older", Timing: quickTiming, Log: slog.New(slog.DiscardHandler), Failed: func(string, error) {}}.Acquire(t.Context())
	f.must(err)
	heard, stop := lease.HeedRequests(held, kv, schema.EventStream, slog.New(slog.DiscardHandler))
	go func() {
		<-heard.Done()
		stop()
		_ = old.Leave(context.WithoutCancel(t.Context()), context.Cause(heard))
	}()
	var both sync.WaitGroup
	changed := make([][]string, 2)
	for i := range changed {
		both.Go(func() {
			var err error
			if changed[i], err = streamio.EnsureRules(t.Context(), f.js, f.ledger, "", slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if len(changed[0])+len(changed[1]) != 1 || f.said() != newest+"@21" {
		t.Errorf("%v, the metadata says %q", changed, f.said())
	}
	stopped := f.follow(f.projector())
	f.publishMix(100, 20)
	f.awaitLevel()
	f.describe(func(m map[string]string) { delete(m, streamio.RulesKey) })
	f.ensureRules() // takes the lease from the projector, which then waits for it again
	f.publishMix(200, 20)
	f.awaitLevel()
	f.must(stopped())
	if f.said() != newest+"@21" {
		t.Errorf("the metadata says %q", f.said())
	}
	f.sameAgain()
}

// migrate is interrupted at random moments, repeatedly, while events arrive.
func TestRulesAreSetAlsoByManyThatAreCutOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 20)
	f.older(func() { f.project() })
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Millisecond)
		_, err := streamio.EnsureRules(ctx, f.js, f.ledger, "migrate", slog.New(slog.DiscardHandler))
		cancel()
		if err == nil && f.said() == "" {
			t.Fatal("it ended without an error and without rules")
		}
		f.publishMix(100*(i+1), 3)
	}
	_, err := streamio.EnsureRules(t.Context(), f.js, f.ledger, "migrate", slog.New(slog.DiscardHandler))
	f.must(err)
	if f.said() != newest+"@21" {
		t.Errorf("the metadata says %q", f.said())
	}
	f.project()
	f.exact("FINAL")
	f.sameAgain()
}

// Each of several streams has a position of the rules. Facts in one stream name erased messages
// in another.
func TestEveryPartitionHasItsRules(t *testing.T) {
	t.Parallel()
	const n = 4
	f := newFleetFixture(t, n)
	describe := func(change func(config *jetstream.StreamConfig)) {
		for _, s := range schema.Partitions(n).EventStreams() {
			stream, err := f.js.Stream(t.Context(), s.Name)
			f.must(err)
			config := stream.CachedInfo().Config
			config.Metadata = maps.Clone(config.Metadata)
			change(&config)
			_, err = f.js.UpdateStream(t.Context(), config)
			f.must(err)
		}
	}
	publish := func(first int) {
		for i := range 40 {
			e := projectortest.Event(first+i, 0)
			e.SessionID = fmt.Sprint("s-", i)
			e.PartitionKey = e.SessionID
			m := e.Binary()
			if i%4 == 0 {
				m = projectortest.On("zeta", e)
			}
			f.publish(m)
		}
		f.flush()
	}
	project := func() {
		t.Helper()
		c := testConfig(f.js, f.ledger)
		c.UntilCaughtUp = true
		fleet, err := NewFleet(c, sharedNames(n))
		f.must(err)
		f.must(fleet.Run(t.Context()))
	}
	describe(func(c *jetstream.StreamConfig) { c.Metadata[streamio.RulesKey] = "4@1000000" })
	publish(0)
	project()
	describe(func(c *jetstream.StreamConfig) { delete(c.Metadata, streamio.RulesKey) })
	if changed := f.ensureRules(); len(changed) != n {
		t.Errorf("changed %v", changed)
	}
	publish(100)
	project()
	if got := f.texts("SELECT concat(code, ' ', tenant, ' ', toString(count())) FROM quarantine FINAL GROUP BY code, tenant"); fmt.Sprint(got) != "[tenant_mismatch zeta 10]" {
		t.Errorf("refused: %v", got)
	}
	if got := f.count("SELECT count() FROM events FINAL"); got != 70 {
		t.Errorf("%d events", got)
	}
	f.sameAgain()
}

// A takeover from an older projector may be interrupted at every step.
func TestTheOldLeaseIsInheritedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 10)
	f.older(func() { f.project() })
	kv, err := lease.OpenBucket(t.Context(), f.js)
	f.must(err)
	read := func(key string) (uint64, lease.Entry) {
		revision, entry, err := lease.ReadEntry(t.Context(), kv, key)
		f.must(err)
		return revision, entry
	}
	quiet := slog.New(slog.DiscardHandler)
	inherit := func(owner string) {
		t.Helper()
		f.must(lease.Claim{KV: kv, Key: lease.KeyOf(schema.EventStream), Owner: owner, Timing: quickTiming, Log: quiet}.Inherit(t.Context(), schema.EventStream))
	}
	_, was := read(schema.EventStream)
	// One takeover reaches the new key, and an older projector continues.
	early, err := json.Marshal(lease.Entry{Epoch: was.Epoch + 1})
	f.must(err)
	_, err = kv.Put(t.Context(), lease.KeyOf(schema.EventStream), early)
	f.must(err)
	was.Epoch, was.Owner = was.Epoch+5, ""
	later, err := json.Marshal(was)
	f.must(err)
	_, err = kv.Put(t.Context(), schema.EventStream, later)
	f.must(err)
	inherit("one")
	if _, got := read(lease.KeyOf(schema.EventStream)); got.Epoch != was.Epoch+1 || got.Owner != "" || got.Pending == nil || !got.Pending.Same(*was.Pending) {
		t.Errorf("carried over: %+v, of %+v", got, was)
	}
	// An operator follows the advice of older versions and deletes the key.
	f.ensureRules()
	f.publishMix(50, 10)
	f.project()
	_, now := read(lease.KeyOf(schema.EventStream))
	f.must(kv.Delete(t.Context(), schema.EventStream))
	inherit("two")
	if _, got := read(lease.KeyOf(schema.EventStream)); got.Epoch != now.Epoch || !got.Pending.Same(*now.Pending) {
		t.Errorf("after the fence was taken away: %+v, not %+v", got, now)
	}
	if fenced, err := lease.IsFenced(t.Context(), kv, schema.EventStream); err != nil || !fenced {
		t.Errorf("the fence does not stand: %v", err)
	}
	f.publishMix(70, 10)
	f.project()
	f.sameAgain()
}
