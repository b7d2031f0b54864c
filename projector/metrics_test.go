package projector

import (
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/schema"
)

// measured returns a projector with separate metrics. The returned function reads them by name
// and by the labels without the stream.
func (f *fixture) measured() (p *Projector, read func(name string, labels ...string) (float64, bool)) {
	f.t.Helper()
	p = f.projector()
	p.config.Metrics = metrics.New()
	registry := registryOf(p)
	return p, func(name string, labels ...string) (float64, bool) {
		f.t.Helper()
		families, err := registry.Gather()
		f.must(err)
		for _, family := range families {
			if family.GetName() != "ctxledger_projector_"+name {
				continue
			}
			for _, m := range family.GetMetric() {
				var have []string
				for _, l := range m.GetLabel() {
					have = append(have, l.GetValue())
				}
				if !slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(append(labels, schema.EventStream)))) {
					continue
				}
				switch {
				case m.GetHistogram() != nil:
					return float64(m.GetHistogram().GetSampleCount()), true
				case m.GetCounter() != nil:
					return m.GetCounter().GetValue(), true
				default:
					return m.GetGauge().GetValue(), true
				}
			}
		}
		return 0, false
	}
}

func TestMetricsOfAKnownWorkload(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 75)
	f.must(f.stream().DeleteMsg(t.Context(), 30))
	f.must(f.stream().DeleteMsg(t.Context(), 31))
	p, read := f.measured()
	f.must(f.run(p))

	want := func(value uint64, name string, labels ...string) {
		t.Helper()
		if got, _ := read(name, labels...); got != float64(value) {
			t.Errorf("%s%v is %v, want %d", name, labels, got, value)
		}
	}
	want(73, "messages_total")
	want(2, "sequence_gaps_total")
	want(f.count("SELECT count() FROM duplicates"), "duplicates_total")
	for _, table := range []string{"events", "log_items", "quarantine", "duplicates"} {
		want(f.count("SELECT count() FROM "+table), "rows_total", table)
	}
	codes, err := f.sql.Query(t.Context(), "SELECT code, count() FROM quarantine GROUP BY code")
	f.must(err)
	kinds := 0
	for ; codes.Next(); kinds++ {
		var code string
		var n uint64
		f.must(codes.Scan(&code, &n))
		want(n, "quarantined_total", code)
	}
	if kinds < 2 {
		t.Errorf("the mix has %d codes", kinds)
	}
	batches := f.count("SELECT count() FROM commits")
	for _, name := range []string{"batch_messages", "batch_bytes", "batch_rows"} {
		want(batches, name)
	}
	for _, step := range []string{"decode", "look up identities", "build", "journal", "publish to quarantine", "write", "commit", "delete reintroduced values"} {
		want(batches, "step_duration_seconds", step)
	}
	want(0, "ready")
	want(0, "lease_held")
	if _, has := read("lease_epoch"); has {
		t.Error("an epoch is shown without a lease")
	}

	// Another projector in the same process continues the counts.
	f.publishMix(1000, 5)
	again := f.projector()
	again.config.Metrics = p.config.Metrics
	f.must(f.run(again))
	want(78, "messages_total")
	want(2, "sequence_gaps_total")
}

// The lag is known while the ledger is down, for the writer and for a standby. The lag grows by
// the clock, and is 0 when level.
func TestLagWhileTheLedgerIsDown(t *testing.T) {
	t.Parallel()
	needsServers(t)
	s := embeddedtest.Start(t)
	f := newFixtureOn(t, s.NATSURL(), s)
	writer, ofWriter := f.measured()
	f.follow(writer)
	f.await("the writer is ready", func() bool { return writer.Status().Ready })
	standby, ofStandby := f.measured()
	standby.config.Owner = "standby"
	f.follow(standby)
	lags := func(what string, ok func(events, seconds float64) bool) {
		t.Helper()
		for name, read := range map[string]func(string, ...string) (float64, bool){"writer": ofWriter, "standby": ofStandby} {
			f.await(name+" "+what, func() bool {
				events, known := read("lag_events")
				seconds, _ := read("lag_seconds")
				return known && ok(events, seconds)
			})
		}
	}
	f.publishMix(0, 40)
	f.awaitLevel()
	lags("is level", func(events, seconds float64) bool { return events == 0 && seconds == 0 })
	if held, _ := ofWriter("lease_held"); held != 1 {
		t.Error("the writer does not hold the lease")
	}
	if epoch, _ := ofWriter("lease_epoch"); epoch != 1 {
		t.Errorf("the epoch is %v", epoch)
	}
	if age, known := ofWriter("lease_heartbeat_age_seconds"); !known || age < 0 {
		t.Errorf("the heartbeat's age is %v, %v", age, known)
	}
	if held, known := ofStandby("lease_held"); held != 0 || !known {
		t.Error("the standby holds the lease")
	}

	late := ruleOf(t, "CtxledgerLag", registryOf(writer))
	late.expr = strings.Replace(late.expr, "> 60", "> 0.5", 1) // seconds
	if late.fires() {
		t.Error("the alert fires before the fault")
	}
	f.must(syscall.Kill(s.EnginePID(), syscall.SIGSTOP))
	f.publishMix(1000, 30)
	lags("sees what is not projected", func(events, _ float64) bool { return events == 30 })
	before, _ := ofWriter("lag_seconds")
	lags("sees it grow old", func(events, seconds float64) bool { return events == 30 && seconds > before+0.5 })
	f.await("the alert fires", late.fires)

	f.must(syscall.Kill(s.EnginePID(), syscall.SIGCONT))
	lags("is level again", func(events, seconds float64) bool { return events == 0 && seconds == 0 })
	f.await("the alert ends", func() bool { return !late.fires() })
	f.exact("FINAL")
}

// Backpressure is counted by the server's code and named in the health. No event is quarantined
// for it. The log holds no content of an event.
func TestRetriesByCause(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	p, read := f.measured()
	log := &logbook{}
	p.config.Log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f.must(f.sql.Exec(t.Context(), "SYSTEM STOP MERGES events"))
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE events MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1"))
	f.follow(p)
	f.await("the server has refused", func() bool { n, _ := read("retries_total", "clickhouse", "252"); return n > 1 })
	if h := p.Health(); h.Waiting != "write: clickhouse 252" || h.State != Projecting || h.Stuck || h.Failing <= 0 {
		t.Errorf("the health is %+v", h)
	}
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE events RESET SETTING parts_to_delay_insert, parts_to_throw_insert"))
	f.awaitLevel()
	f.await("nothing is waited for", func() bool { h := p.Health(); return h.Waiting == "" && h.Failing == 0 })
	f.exact("")
	if text := log.String(); strings.Count(text, `"event":"retry","step":"write","cause":"clickhouse","code":"252"`) == 0 {
		t.Errorf("the log does not name the retry:\n%s", text)
	} else {
		for _, part := range []string{"event-", "item-", "message-", "urn:ctxledger:test", "acme"} {
			if strings.Contains(text, part) {
				t.Errorf("the log holds %q of an event:\n%s", part, text)
			}
		}
	}
}

func TestStoppedForAReason(t *testing.T) {
	t.Parallel()
	for reason, harm := range map[string]func(f *fixture){
		"stream_forked": func(f *fixture) {
			f.must(f.sql.Exec(t.Context(), "ALTER TABLE commits UPDATE digest = repeat('x', 32) WHERE 1 SETTINGS mutations_sync = 1"))
		},
		"events_expired": func(f *fixture) { f.must(f.stream().Purge(t.Context())) },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publishMix(0, 30)
			f.project()
			f.publishMix(1000, 10)
			harm(f)
			p, read := f.measured()
			if err := f.run(p); err == nil {
				t.Fatal("it projects on")
			}
			if h := p.Health(); h.State != Stopped || h.Reason != reason {
				t.Errorf("the health is %+v", h)
			}
			for _, r := range metrics.StopReasons {
				if got, _ := read("stopped", r); (got == 1) != (r == reason) {
					t.Errorf("stopped for %s is %v", r, got)
				}
			}
		})
	}
}

// A stream that the operator gave a limit shows it. At the limit the server refuses events, and
// what the stream has is projected.
func TestStreamAtItsLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	writer, read := f.measured()
	f.publishMix(0, 20)
	f.follow(writer)
	f.await("the size is known", func() bool { bytes, _ := read("stream_bytes"); return bytes > 0 })
	if _, has := read("stream_limit_bytes"); has {
		t.Error("a stream without a limit shows one")
	}
	stream := f.stream()
	config := stream.CachedInfo().Config
	info, err := stream.Info(t.Context())
	f.must(err)
	config.MaxBytes, config.Discard = int64(info.State.Bytes)+1, jetstream.DiscardNew
	_, err = f.js.UpdateStream(t.Context(), config)
	f.must(err)
	f.await("the limit is known", func() bool { limit, _ := read("stream_limit_bytes"); return limit == float64(config.MaxBytes) })
	bytes, _ := read("stream_bytes")
	if bytes <= 0.85*float64(config.MaxBytes) {
		t.Errorf("the stream has %v of %d bytes: no alert", bytes, config.MaxBytes)
	}
	if _, err := f.js.Publish(t.Context(), "ctx.v1.acme.s.x.log.appended", []byte("{}")); err == nil {
		t.Error("a full stream took an event")
	}
	f.await("the stream is projected", func() bool { lag, known := read("lag_events"); return known && lag == 0 })
}
