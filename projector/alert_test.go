package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/signing"
	"github.com/ctxledger/ctxledger/schema"
)

// A harm provokes an alert under a projector, which it starts. heal follows the page of the runbook, and
// returns the projector that runs then.
type harm func(f *fixture, p *Projector) (heal func() *Projector)

// alerts has a fault for each alert. An alert that needs other servers has the test that provokes it and
// evaluates its rule: its file and its name.
var alerts = map[string]struct {
	harm       harm
	file, test string
}{
	"CtxledgerStreamForked":          {harm: forked},
	"CtxledgerEventsExpired":         {harm: expired},
	"CtxledgerSequenceGap":           {harm: deletedMessage},
	"CtxledgerFactsLost":             {file: "alert_rule_test.go", test: "TestFactsThatDoNotArriveFire"},
	"CtxledgerBatchesLeftOpen":       {harm: batchesLeftOpen},
	"CtxledgerHeadsNotTaken":         {harm: sinkThatFails},
	"CtxledgerRetentionFails":        {harm: unreadablePolicy},
	"CtxledgerStuck":                 {harm: hangs},
	"CtxledgerNobodyProjects":        {harm: forked},
	"CtxledgerAbsent":                {harm: notStarted},
	"CtxledgerLag":                   {file: "metrics_test.go", test: "TestLagWhileTheLedgerIsDown"},
	"CtxledgerReplicasBehind":        {file: "fault_cluster_test.go", test: "TestReplicasBehindFire"},
	"CtxledgerStreamNearLimit":       {harm: streamLimit},
	"CtxledgerStreamStoreFull":       {harm: fullStore},
	"CtxledgerTablesDiskFull":        {file: "fault_refusal_test.go", test: "clickhouseDiskFull"},
	"CtxledgerRetries":               {harm: tooManyPartsNow},
	"CtxledgerQuarantine":            {harm: notEvents},
	"CtxledgerWithheldValueCameBack": {harm: valueCameBack},
	"CtxledgerRedactionStopsEvents":  {harm: redactionOfManyEvents},
	"CtxledgerUnknownKeys":           {harm: unknownKey},
}

// TestEveryAlertHasAFault: no alert is without a fault or a test, and each test is there.
func TestEveryAlertHasAFault(t *testing.T) {
	t.Parallel()
	n := 0
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			n++
			how, ok := alerts[r.Alert]
			if !ok || (how.harm == nil) == (how.test == "") {
				t.Errorf("nothing provokes %s, or two things", r.Alert)
			}
			if how.test == "" {
				continue
			}
			text, err := os.ReadFile(how.file)
			_, body, found := strings.Cut(string(text), "\nfunc "+how.test+"(t *testing.T) {\n")
			body, _, _ = strings.Cut(body, "\n}\n")
			if err != nil || !found || !strings.Contains(body, "ruleOf(t, \""+r.Alert+"\", ") {
				t.Errorf("%s: %s has no test %s that evaluates the rule: %v", r.Alert, how.file, how.test, err)
			}
		}
	}
	if n != len(alerts) {
		t.Errorf("there are %d alerts, and %d are provoked", n, len(alerts))
	}
}

// TestAlertsFire provokes each alert: the rule is quiet before, and fires. After what the page of the
// runbook says, it is quiet again, and the projector is level, waits for nothing, and counts no more.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	for name, how := range alerts {
		if how.harm == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needsServers(t)
			// the store is small for one of the faults, and large enough for all others
			s := embeddedtest.Start(t, func(c *embedded.Config) { c.NoClickHouse, c.JetStreamMaxStore = true, 4<<20 })
			f := newFixtureOn(t, s.NATSURL(), migrated.ClickHouse(t))
			p := f.projector()
			p.config.Timing.Heartbeat, p.config.Metrics = 50*time.Millisecond, metrics.New()
			r := ruleOf(t, name, registryOf(p))
			if name != "CtxledgerAbsent" && r.fires() {
				t.Error("it fires before the fault")
			}
			heal := how.harm(f, p)
			f.await("the alert fires", r.fires)
			p = heal()
			f.publishClean(5000)
			f.await("the health is good", func() bool { h := p.Health(); return h.State == Projecting && h.Waiting == "" && !h.Stuck })
			r.window = r.counters()
			f.publishClean(6000)
			f.await("the alert ends", func() bool { return !r.fires() })
		})
	}
}

// publishClean publishes events without a fault, and waits until they are projected.
func (f *fixture) publishClean(first int) {
	f.t.Helper()
	for i := range 5 {
		f.publish(projectortest.Event(first+i, 0).Binary())
	}
	f.awaitLevel()
}

// another runs a projector of the same process, with the same metrics.
func (f *fixture) another(p *Projector) *Projector {
	f.t.Helper()
	next := f.projector()
	next.config.Metrics, next.config.Keys = p.config.Metrics, p.config.Keys
	f.follow(next)
	return next
}

// forked changes the digest of a commit, as a stream that was restored from another copy would.
func forked(f *fixture, p *Projector) func() *Projector {
	f.publishMix(0, 30)
	f.project()
	f.must(f.sql.Exec(f.t.Context(), "ALTER TABLE commits UPDATE digest = repeat('x', 32) WHERE 1 SETTINGS mutations_sync = 1"))
	f.fails(p)
	return func() *Projector {
		accept := f.rebuild()
		accept.Accept = true
		f.rebuilt(accept)
		return f.another(p)
	}
}

func expired(f *fixture, p *Projector) func() *Projector {
	f.publishMix(0, 30)
	f.project()
	f.publishMix(1000, 10)
	f.must(f.stream().Purge(f.t.Context()))
	f.fails(p)
	return func() *Projector {
		accept := f.rebuild()
		accept.Accept = true
		f.rebuilt(accept)
		return f.another(p)
	}
}

// unreadablePolicy breaks the policy of the retention, as a hand in the bucket of leases would.
func unreadablePolicy(f *fixture, p *Projector) func() *Projector {
	f.follow(p)
	f.publishClean(0)
	_, err := f.leases().PutString(f.t.Context(), "retention.policy", "{")
	f.must(err)
	pass := f.retention()
	pass.Metrics, pass.Every = p.config.Metrics, 20*time.Millisecond
	var passes sync.WaitGroup
	passes.Go(func() { pass.Follow(f.t.Context()) })
	f.t.Cleanup(passes.Wait)
	return func() *Projector {
		f.must(retention.WritePolicy(f.t.Context(), f.leases(), everything))
		return p
	}
}

// fails runs a projector that gives up.
func (f *fixture) fails(p *Projector) {
	f.t.Helper()
	if err := f.run(p); err == nil {
		f.t.Error("it projects on")
	}
}

func deletedMessage(f *fixture, p *Projector) func() *Projector {
	f.publishMix(0, 20)
	f.must(f.stream().DeleteMsg(f.t.Context(), 10))
	f.must(f.run(p))
	return func() *Projector { return f.another(p) }
}

func sinkThatFails(f *fixture, p *Projector) func() *Projector {
	var there atomic.Bool
	p.config.Signing = signing.Config{Every: 1, Interval: time.Millisecond, Sinks: []signing.Sink{{Name: "outside", Put: func(context.Context, string, []byte) error {
		if there.Load() {
			return nil
		}
		return errors.New("the folder is away")
	}}}}
	f.follow(p)
	for i := range 8 {
		f.publishMix(100*i, 10)
		f.awaitLevel()
	}
	return func() *Projector { there.Store(true); return p }
}

// hangs stops a projector within a step.
func hangs(f *fixture, p *Projector) func() *Projector {
	goOn := make(chan struct{})
	p.config.Timing.Poll = time.Millisecond
	p.config.Steps = atEach(func(point string) {
		if point == pointJournalled {
			<-goOn
		}
	})
	f.follow(p)
	f.publishMix(0, 3)
	return func() *Projector { close(goOn); return p }
}

// notStarted is a projector that nobody has started.
func notStarted(f *fixture, p *Projector) func() *Projector {
	return func() *Projector { f.follow(p); return p }
}

func streamLimit(f *fixture, p *Projector) func() *Projector {
	f.publishMix(0, 20)
	stream := f.stream()
	info, err := stream.Info(f.t.Context())
	f.must(err)
	config := info.Config
	set := func(bytes int64) {
		config.MaxBytes, config.Discard = bytes, jetstream.DiscardNew
		_, err := f.js.UpdateStream(f.t.Context(), config)
		f.must(err)
	}
	set(int64(info.State.Bytes) + 1)
	f.follow(p)
	return func() *Projector { set(-1); return p }
}

func fullStore(f *fixture, p *Projector) func() *Projector {
	f.follow(p)
	f.publishMix(0, 3)
	f.awaitLevel()
	other, err := f.js.CreateStream(f.t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}})
	f.must(err)
	for size := 256 << 10; size > 0; size /= 2 {
		for err = nil; err == nil; _, err = f.js.Publish(f.t.Context(), "other", make([]byte, size)) {
		}
	}
	return func() *Projector { f.must(other.Purge(f.t.Context())); return p }
}

func tooManyPartsNow(f *fixture, p *Projector) func() *Projector {
	f.publishMix(0, 30)
	f.must(f.sql.Exec(f.t.Context(), "SYSTEM STOP MERGES events"))
	f.must(f.sql.Exec(f.t.Context(), "ALTER TABLE events MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1"))
	f.follow(p)
	f.publishMix(1000, 30)
	return func() *Projector {
		f.must(f.sql.Exec(f.t.Context(), "ALTER TABLE events RESET SETTING parts_to_delay_insert, parts_to_throw_insert"))
		return p
	}
}

func notEvents(f *fixture, p *Projector) func() *Projector {
	for range 3 {
		_, err := f.js.PublishMsg(f.t.Context(), &nats.Msg{Subject: "ctx.v1.acme.x.p00.item.added", Data: []byte("{")})
		f.must(err)
	}
	f.must(f.run(p))
	return func() *Projector { return f.another(p) }
}

func valueCameBack(f *fixture, p *Projector) func() *Projector {
	f.publish(projectortest.Redaction(f.t, 1, projectortest.Secret).Binary())
	f.publishDisguises(100)
	p.config.Keys, p.config.Log = projectortest.Keys(f.t), slog.New(slog.DiscardHandler)
	f.must(f.run(p))
	return func() *Projector { return f.another(p) }
}

func redactionOfManyEvents(f *fixture, p *Projector) func() *Projector {
	f.publish(projectortest.Redaction(f.t, 1, projectortest.Secret).Binary())
	for i := range 25 {
		f.publish(projectortest.Foreign(100+i, `{"note":"`+projectortest.Secret+`"}`).Binary())
	}
	p.config.Keys, p.config.Log = projectortest.Keys(f.t), slog.New(slog.DiscardHandler)
	f.must(f.run(p))
	return func() *Projector { return f.another(p) }
}

// batchesLeftOpen begins batches of a tenant that nobody finishes: one, after which the projector listens, and
// as many as fire the alert with the tenant's name.
func batchesLeftOpen(f *fixture, p *Projector) func() *Projector {
	f.follow(p)
	f.publishClean(0)
	abandoned := func(tenant string) (n float64) {
		for _, one := range (rule{t: f.t.(*testing.T), registry: registryOf(p)}).values("abandoned_batches_total", `tenant="`+tenant+`"`) {
			n += one
		}
		return n
	}
	begin := func(batches int) {
		for i := range batches {
			m := projectortest.Event(100+i, 0).Binary()
			msg := &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data}
			msg.Header.Set("Nats-Batch-Id", fmt.Sprint("left-open-", batches, "-", i))
			msg.Header.Set("Nats-Batch-Sequence", "1")
			f.must(f.js.Conn().PublishMsg(msg))
		}
	}
	begin(1)
	f.await("NATS gives the first batch up", func() bool { return abandoned("") == 1 })
	begin(25)
	f.await("NATS gives the other batches up", func() bool {
		return abandoned(schema.SubjectTenant(projectortest.Event(100, 0).Binary().Subject)) == 25
	})
	return func() *Projector { return p }
}

// unknownKey projects a redaction whose key is not there.
func unknownKey(f *fixture, p *Projector) func() *Projector {
	f.publish(projectortest.Redaction(f.t, 1, projectortest.Secret).Binary())
	p.config.Keys = nil
	f.must(f.run(p))
	return func() *Projector {
		p.config.Keys = projectortest.Keys(f.t)
		return f.another(p)
	}
}
