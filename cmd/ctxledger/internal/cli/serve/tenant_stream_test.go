package serve_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/outbox"
	"github.com/ctxledger/ctxledger/schema"
)

// tenantRig is an installation with two tenants that publish.
type tenantRig struct {
	t       *testing.T
	data    string
	js      jetstream.JetStream
	ledger  *ledger.Ledger
	clients map[string]*producer.Client
	facts   map[string]int // recorded, by tenant
}

func (r *tenantRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// run runs a command on the installation and returns what it prints.
func (r *tenantRig) run(want int, args ...string) string {
	r.t.Helper()
	stdout, stderr, code := clitest.Run(r.t, append(args, "--data", r.data)...)
	if code != want {
		r.t.Fatalf("%v ended with %d, want %d\n%s%s", args, code, want, stdout, stderr)
	}
	return stdout + stderr
}

func (r *tenantRig) count(query string, args ...any) (n uint64) {
	r.t.Helper()
	r.must(r.ledger.SQL(nil).Conn.QueryRow(r.t.Context(), fmt.Sprintf(query, args...)).Scan(&n))
	return n
}

func (r *tenantRig) await(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("timed out waiting until %s", what)
		}
	}
}

const tenantSessions = 4

// record records one fact of a tenant.
func (r *tenantRig) record(tenant string) error {
	session := fmt.Sprint("session-", r.facts[tenant]%tenantSessions)
	_, err := r.clients[tenant].Record(r.t.Context(), &schema.ItemRemoved{ItemID: fmt.Sprint("item-", r.facts[tenant])}, schema.Correlation{SessionID: session, TurnID: "turn"})
	if err == nil {
		r.facts[tenant]++
	}
	return err
}

// load records facts of all tenants until stop is called.
func (r *tenantRig) load() (stop func()) {
	ended := make(chan struct{})
	var recording sync.WaitGroup
	recording.Go(func() {
		for ticker := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
			for tenant := range r.clients {
				if err := r.record(tenant); err != nil {
					r.t.Error(err)
				}
			}
		}
	})
	return func() { close(ended); recording.Wait() }
}

// put publishes a fact of acme itself.
func (r *tenantRig) put(id, session, text string) (*jetstream.PubAck, error) {
	e, err := schema.NewEvent(&schema.ItemAdded{Item: schema.Item{ItemID: id, ContextKind: "note", Content: text}}, id, "urn:put", time.Unix(1, 0), schema.Correlation{Tenant: "acme", SessionID: session})
	r.must(err)
	m := e.Binary()
	return r.js.PublishMsg(r.t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
}

func newTenantRig(t *testing.T, tenants ...string) (*tenantRig, string) {
	r := &tenantRig{t: t, data: t.TempDir(), clients: make(map[string]*producer.Client), facts: make(map[string]int)}
	found := clitest.Up(t, r.data)
	nc, err := nats.Connect(found.NATSURL, nats.MaxReconnects(-1))
	r.must(err)
	t.Cleanup(nc.Close)
	r.js, err = jetstream.New(nc)
	r.must(err)
	r.ledger, err = ledger.Open(t.Context(), found.ClickHouseDSN)
	r.must(err)
	t.Cleanup(func() { r.ledger.Close() })
	for _, tenant := range tenants {
		box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox"), outbox.Options{NoSync: true})
		r.must(err)
		t.Cleanup(func() { box.Close() })
		c := producer.DefaultConfig(nc)
		c.Tenant, c.Outbox, c.Linger = tenant, box, 5*time.Millisecond
		r.clients[tenant], err = producer.Connect(t.Context(), c)
		r.must(err)
	}
	return r, found.Health
}

// Of two tenants one gets streams of its own while both publish. A fact that is sent again after the move
// counts once. The tenant's quota refuses its facts alone, and they come in when it is raised.
func TestTenantGetsStreamsOfItsOwn(t *testing.T) {
	t.Parallel()
	r, health := newTenantRig(t, "acme", "umbrella")
	stop := r.load()
	ack, err := r.put("again", "session-0", "fine")
	r.must(err)
	if ack.Stream != schema.EventStream {
		t.Fatal(ack.Stream)
	}
	r.await("both tenants are in the ledger", func() bool {
		return r.count("SELECT uniqExact(tenant) FROM events") == 2
	})
	for says, args := range map[string][]string{
		"give --tenant":            {"--max-bytes", "1GB"},
		"want up to 64 letters":    {"--tenant", "a.b", "--partitions", "1"},
		"want at least":            {"--tenant", "acme", "--partitions", "2", "--max-bytes", "1MB"},
		"no streams of its own":    {"--tenant", "acme", "--max-bytes", "1GB"},
		"cannot reserve":           {"--tenant", "acme", "--partitions", "2", "--max-bytes", "1000PB"},
		"there are shared ones: 1": {"--tenant", "acme", "--partitions", "2", "--cluster", "shop"},
	} {
		if said := r.run(cli.ExitUsage, append([]string{"migrate"}, args...)...); !strings.Contains(said, says) {
			t.Errorf("%v says %q", args, said)
		}
	}
	said := r.run(cli.ExitDone, "migrate", "--tenant", "acme", "--partitions", "2", "--max-bytes", "32MiB")
	if !strings.Contains(said, "created stream CTX_1-acme of tenant acme") || !strings.Contains(said, "umbrella") {
		t.Errorf("migrate says %q", said)
	}
	ack, err = r.put("again", "session-0", "fine")
	r.must(err)
	own := ack.Stream
	if !strings.HasSuffix(own, "-acme") || ack.Duplicate {
		t.Errorf("the fact is in %s", own)
	}
	r.await("the repeated fact is a duplicate", func() bool {
		return r.count("SELECT count() FROM duplicates WHERE event_id = 'again'") == 1
	})
	for _, again := range [][]string{{}, {"--tenant", "acme"}, {"--tenant", "acme", "--partitions", "2"}, {"--tenant", "umbrella"}} {
		if said := r.run(cli.ExitDone, append([]string{"migrate"}, again...)...); !strings.Contains(said, "everything is up to date") {
			t.Errorf("migrate %v says %q", again, said)
		}
	}
	if said := r.run(cli.ExitUsage, "migrate", "--tenant", "acme", "--partitions", "4"); !strings.Contains(said, "are in 2, not in 4") {
		t.Errorf("migrate says %q", said)
	}
	stop()
	for tenant, client := range r.clients {
		if err := client.Flush(t.Context()); err != nil {
			t.Errorf("%s: %v", tenant, err)
		}
	}

	// The stream of a session is filled to its limit.
	filled := 1 // facts of acme by this test itself
	for _, size := range []int{60 << 10, 4 << 10, 1} {
		for ; ; filled++ {
			if _, err := r.put(fmt.Sprint("fill-", filled), "session-0", strings.Repeat("x", size)); err != nil {
				var full *jetstream.APIError
				if !errors.As(err, &full) || full.ErrorCode != 10077 {
					t.Fatal(err)
				}
				break
			}
		}
	}
	for range 4 * tenantSessions {
		r.must(r.record("acme"))
		r.must(r.record("umbrella"))
	}
	r.must(r.clients["umbrella"].Flush(t.Context()))
	r.await("the client of acme has an error", func() bool { return r.clients["acme"].Err() != nil })
	if said := r.run(cli.ExitFailed, "doctor"); !strings.Contains(said, "stream "+own+" of tenant acme") {
		t.Errorf("doctor says %q", said)
	}
	r.await("readyz names the stream", func() bool {
		answer, err := http.Get(strings.Replace(health, "healthz", "readyz", 1))
		r.must(err)
		defer answer.Body.Close()
		var ready status.Readiness
		r.must(json.NewDecoder(answer.Body).Decode(&ready))
		return ready.Ready && len(ready.Warnings) == 1 && strings.Contains(ready.Warnings[0], own+" of tenant acme")
	})
	r.run(cli.ExitDone, "migrate", "--tenant", "acme", "--max-bytes", "128MiB")
	r.must(r.clients["acme"].Flush(t.Context()))
	if said := r.run(cli.ExitUsage, "migrate", "--tenant", "acme", "--max-bytes", "32MiB"); !strings.Contains(said, "more than its share") {
		t.Errorf("migrate says %q", said)
	}

	for tenant, want := range map[string]int{"acme": r.facts["acme"] + filled, "umbrella": r.facts["umbrella"]} {
		r.await(fmt.Sprint(tenant, " is in the ledger"), func() bool {
			return r.count("SELECT count() FROM events WHERE tenant = '%s'", tenant) >= uint64(want)
		})
		if n := r.count("SELECT count() FROM events FINAL WHERE tenant = '%s'", tenant); n != uint64(want) {
			t.Errorf("%s has %d events, not %d", tenant, n, want)
		}
		wrong := r.count(`SELECT count() FROM (SELECT session_id, count() AS n, uniqExact(sequence) AS numbers, max(sequence) AS last FROM events
			WHERE tenant = '%s' AND source != 'urn:put' GROUP BY session_id HAVING n != numbers OR n != last)`, tenant)
		if wrong > 0 {
			t.Errorf("%d sessions of %s are not whole", wrong, tenant)
		}
	}
	if n := r.count("SELECT uniqExact(incarnation) FROM events WHERE tenant = 'acme' AND session_id = 'session-0'"); n != 2 {
		t.Errorf("the session has events of %d streams, not of 2", n)
	}
	r.run(cli.ExitDone, "rebuild", "--compare-only")
	if said := r.run(cli.ExitUsage, "retention", "set", "--age", "720h", "--tenant-age", "umbrella=168h"); !strings.Contains(said, "no streams of its own") {
		t.Errorf("retention says %q", said)
	}
	if said := r.run(cli.ExitDone, "retention", "set", "--age", "720h", "--tenant-age", "acme=168h"); !strings.Contains(said, "streams of tenant acme: messages older than 168h") {
		t.Errorf("retention says %q", said)
	}
	head := filepath.Join(t.TempDir(), "head")
	r.await("a head is signed", func() bool {
		_, _, code := clitest.Run(t, "proof", "checkpoint", "--stream", own, "--out", head, "--data", r.data)
		return code == cli.ExitDone
	})
	r.run(cli.ExitDone, "proof", "consistency", "10", head, "--stream", own)
	pack := filepath.Join(t.TempDir(), "pack")
	r.run(cli.ExitDone, "evidence", "export", "--session", "session-1", "--tenant", "acme", "--out", pack)
	key := filepath.Join(t.TempDir(), "key")
	r.must(os.WriteFile(key, []byte(r.run(cli.ExitDone, "proof", "keygen")), 0o600))
	said = r.run(cli.ExitDone, "evidence", "verify", pack, "--key", key)
	if !strings.Contains(said, "ctxledger/CTX/") || !strings.Contains(said, "-acme/") {
		t.Errorf("the pack has no logs of both streams: %s", said)
	}
}
