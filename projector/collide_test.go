package projector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/revocation"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/schema"
)

// A collision is a history of redactions, revocations and erasures that get in each other's way. Several
// histories of different tenants can share a ledger.
type collision struct {
	*fixture
	t       *testing.T // of the history
	tenant  string
	keys    []schema.Key // of the tenant; the last one is of a rotation
	rings   func() ([]schema.KeyRing, error)
	project func() // until the tables are level
	events  int
}

// tenants gives each of n histories a tenant with keys of its own.
func tenants(t *testing.T, n int) (list []collision, keys func() ([]schema.KeyRing, error)) {
	t.Helper()
	var rings []schema.KeyRing
	for i := range n {
		c := collision{tenant: fmt.Sprint("acme", i)}
		for second := range int64(2) {
			key, err := schema.NewKey(strings.NewReader(fmt.Sprintf("%030d%02d", i, second)), time.Unix(second, 0))
			if err != nil {
				t.Fatal(err)
			}
			c.keys = append(c.keys, key)
		}
		rings = append(rings, schema.KeyRing{Tenant: c.tenant, Keys: c.keys})
		list = append(list, c)
	}
	return list, func() ([]schema.KeyRing, error) { return rings, nil }
}

// send publishes an event of the tenant.
func (c *collision) send(e *schema.Event) {
	e.Tenant, e.Source = c.tenant, e.Source+":"+c.tenant
	c.publish(e.Binary())
}

// say publishes an event with a text.
func (c *collision) say(text string) {
	c.events++
	c.send(projectortest.Foreign(c.events, fmt.Sprintf(`{"note":%q}`, text)))
}

func (c *collision) redact(id int, values ...string) {
	c.send(projectortest.RedactionBy(c.t, c.keys[0], id, values...))
}

// redactRotated is redact after a rotation of the tenant's key.
func (c *collision) redactRotated(id int, values ...string) {
	c.send(projectortest.RedactionBy(c.t, c.keys[1], id, values...))
}

// loud publishes a redaction with a change to its event.
func (c *collision) loud(id int, change func(*schema.Event)) {
	e := projectortest.RedactionBy(c.t, c.keys[0], id, projectortest.Secret)
	change(e)
	c.send(e)
}

func (c *collision) revoke(id int, more ...func(*revocation.Revocation)) (revocation.Revoked, error) {
	c.project()
	r := revocation.Revocation{JetStream: c.js, Tables: shardmap.Plain(c.ledger), RedactionID: fmt.Sprint("redaction-", id), Tenant: c.tenant, Reason: "ordinary words", PolicyRefs: []string{"policy:review"}}
	for _, change := range more {
		change(&r)
	}
	return r.Run(c.t.Context())
}

func (c *collision) revoked(id int, more ...func(*revocation.Revocation)) {
	c.t.Helper()
	if _, err := c.revoke(id, more...); err != nil {
		c.t.Errorf("revoke redaction %d: %v", id, err)
	}
}

func (c *collision) erase(subject string) (erasure.Erased, error) {
	c.project()
	e := c.erasure()
	e.Keys = c.rings
	var err error
	if e.Subject, err = ledger.ParseSubject(subject); err != nil {
		c.t.Fatal(err)
	}
	return e.Run(c.t.Context())
}

func (c *collision) erased(subject string) {
	c.t.Helper()
	if _, err := c.erase(subject); err != nil {
		c.t.Errorf("erase %s: %v", subject, err)
	}
}

// beside plays a part of the history while a rebuild runs: after the rebuild has made its tables, and
// before it swaps them.
func (c *collision) beside(play func()) {
	c.project()
	r := c.rebuild()
	r.Keys = c.rings
	made, played, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	r.Steps = atEach(func(point string) {
		switch point {
		case pointMade:
			close(made)
		case pointCompared:
			select {
			case <-played:
			case <-c.t.Context().Done():
			}
		}
	})
	go func() {
		got, err := r.Run(c.t.Context())
		if err != nil {
			err = fmt.Errorf("%w: %+v", err, got.Compared.Differences)
		}
		done <- err
	}()
	select {
	case <-made:
		play()
	case err := <-done:
		done <- err
	}
	close(played)
	if err := <-done; err != nil {
		c.t.Errorf("the rebuild beside ended with %v", err)
	}
}

// kept returns how many events of say are in the tables.
func (c *collision) kept() uint64 {
	c.project()
	return c.count("SELECT count() FROM recorded_events WHERE startsWith(event_id, 'event-') AND tenant = '" + c.tenant + "'")
}

// codes returns the codes of the refused messages of a tenant, sorted. An empty tenant means all messages.
func (c *collision) codes(tenant string) (list []string) {
	for _, r := range c.refusals(read.RefusalFilter{Tenant: tenant}) {
		list = append(list, r.Code)
	}
	slices.Sort(list)
	return list
}

const (
	secret = projectortest.Secret
	again  = string(schema.CodeReintroduced)
	word   = string(schema.CodeRedactedWord)
)

// A history has the facts of one tenant in their order, and the events that are left.
type history struct {
	play  func(c *collision)
	kept  uint64   // events with a note
	codes []string // of refused messages
}

// TestCollisions: no history of redactions, revocations and erasures ends in silence. After each, a
// rebuild gives the same tables.
func TestCollisions(t *testing.T) {
	t.Parallel()
	inSession := func(name string) func(*schema.Event) { return func(e *schema.Event) { e.SessionID = name } }
	together := map[string]history{
		"value after its redaction":         {func(c *collision) { c.redact(1, secret); c.say(secret) }, 0, []string{again}},
		"value before its redaction":        {func(c *collision) { c.say(secret); c.redact(1, secret) }, 1, nil},
		"revoked":                           {func(c *collision) { c.redact(1, secret); c.say(secret); c.revoked(1); c.say(secret) }, 1, []string{again}},
		"revoked in the batch of its value": {func(c *collision) { c.redact(1, secret); c.revoked(1); c.say(secret); c.say("x" + secret) }, 2, nil},
		"redacted twice, one revoked":       {func(c *collision) { c.redact(1, secret); c.redact(2, secret); c.revoked(1); c.say(secret) }, 0, []string{again}},
		"redacted twice, both revoked": {func(c *collision) {
			c.redact(1, secret)
			c.redact(2, secret)
			c.revoked(1)
			c.revoked(2)
			c.say(secret)
		}, 1, nil},
		"redacted twice, the later one revoked": {func(c *collision) { c.redact(1, secret); c.redact(2, secret); c.revoked(2); c.say(secret) }, 0, []string{again}},
		"redacted twice, same value revoked": {func(c *collision) {
			c.redact(1, secret)
			c.redact(2, secret)
			c.revoked(1, func(r *revocation.Revocation) { r.SameValue = true })
			c.say(secret)
		}, 1, nil},
		"one fact again":                      {func(c *collision) { c.redact(1, secret); c.redact(1, secret); c.revoked(1); c.say(secret) }, 1, nil},
		"the fact again after its revocation": {func(c *collision) { c.redact(1, secret); c.revoked(1); c.redact(1, secret); c.say(secret) }, 1, nil},
		"redacted again after its revocation": {func(c *collision) { c.redact(1, secret); c.revoked(1); c.redact(3, secret); c.say(secret) }, 0, []string{again}},
		"the id redacted again after revocation": {func(c *collision) {
			c.redact(1, secret)
			c.revoked(1)
			c.loud(1, func(e *schema.Event) { e.ID = "another" })
			c.say(secret)
		}, 0, []string{again}},
		"that again revoked": {func(c *collision) {
			c.redact(1, secret)
			c.revoked(1)
			c.loud(1, func(e *schema.Event) { e.ID = "another" })
			c.revoked(1)
			c.say(secret)
		}, 1, nil},
		"two values, revoked together": {func(c *collision) {
			c.redact(1, secret, "another value")
			c.revoked(1)
			c.say(secret)
			c.say("another value")
		}, 2, nil},
		"two values, one redacted elsewhere": {func(c *collision) {
			c.redact(1, secret, "another value")
			c.redact(2, secret)
			c.revoked(1)
			c.say(secret)
			c.say("another value")
		}, 1, []string{again}},
		"redactions of two sessions": {func(c *collision) {
			c.redact(1, secret)
			c.loud(1, func(e *schema.Event) { e.ID, e.SessionID = "b", "s-2" })
			c.revoked(1)
			c.say(secret)
		}, 1, nil},
		"revoked twice": {func(c *collision) {
			c.redact(1, secret)
			c.revoked(1)
			if _, err := c.revoke(1); !errors.Is(err, revocation.ErrNothing) {
				c.t.Errorf("the second revocation ended with %v", err)
			}
			c.say(secret)
		}, 1, nil},
		"revocation of nothing": {func(c *collision) {
			if _, err := c.revoke(9); !errors.Is(err, revocation.ErrNothing) {
				c.t.Errorf("it ended with %v", err)
			}
		}, 0, nil},
		"revoked under another tenant": {func(c *collision) {
			c.redact(1, secret)
			if _, err := c.revoke(1, func(r *revocation.Revocation) { r.Tenant = "umbrella" }); !errors.Is(err, revocation.ErrNothing) {
				c.t.Errorf("it ended with %v", err)
			}
			c.say(secret)
		}, 0, []string{again}},
		"value in the reason of its revocation": {func(c *collision) {
			c.redact(1, secret)
			c.redact(2, secret)
			if _, err := c.revoke(1, func(r *revocation.Revocation) { r.Reason = "it is " + secret }); !errors.Is(err, revocation.ErrRefused) {
				c.t.Errorf("it ended with %v", err)
			}
			c.say(secret)
			c.revoked(1)
		}, 0, []string{again, again}},
		"value in its own reason": {func(c *collision) {
			c.loud(1, func(e *schema.Event) {
				e.Data = []byte(strings.Replace(string(e.Data), `"reason":"secret"`, `"reason":"`+secret+`"`, 1))
			})
			c.say(secret)
		}, 1, []string{again}},
		"value in its own policy": {func(c *collision) {
			c.loud(1, func(e *schema.Event) { e.Data = []byte(strings.Replace(string(e.Data), `policy:secrets`, secret, 1)) })
			c.say(secret)
		}, 1, []string{again}},
		"value in its own id":       {func(c *collision) { c.loud(1, func(e *schema.Event) { e.ID = secret }); c.say(secret) }, 1, []string{again}},
		"value in its own session":  {func(c *collision) { c.loud(1, inSession(secret)); c.say(secret) }, 1, []string{again}},
		"value in its own traces":   {func(c *collision) { c.loud(1, func(e *schema.Event) { e.TraceState = "a=" + secret }); c.say(secret) }, 1, []string{again}},
		"a type":                    {func(c *collision) { c.redact(1, "context.item.added"); c.say("x") }, 1, []string{word}},
		"a name of a member":        {func(c *collision) { c.redact(1, "event_type"); c.say("x") }, 1, []string{word}},
		"a word of a vocabulary":    {func(c *collision) { c.redact(1, "superseded_by_summary"); c.say("x") }, 1, []string{word}},
		"an attribute":              {func(c *collision) { c.redact(1, "datacontenttype"); c.say("x") }, 1, []string{word}},
		"the beginning of all data": {func(c *collision) { c.redact(1, `{"schema_version":"0.1.0"`); c.say("x") }, 1, []string{word}},
		"a word and a secret":       {func(c *collision) { c.redact(1, secret, "event_type"); c.say(secret) }, 1, []string{word}},
		"redacted before and after a rotation": {func(c *collision) {
			c.redact(1, secret)
			c.say(secret)
			c.redactRotated(2, "another secret")
			c.say(secret)
			c.say("another secret")
		}, 0, []string{again, again, again}},
		"redacted on both sides of a rotation, one revoked": {func(c *collision) {
			c.redact(1, secret)
			c.redactRotated(2, secret)
			c.revoked(1)
			c.say(secret)
		}, 0, []string{again}},
		"redacted on both sides of a rotation, both revoked": {func(c *collision) {
			c.redact(1, secret)
			c.redactRotated(2, secret)
			c.revoked(1)
			c.revoked(2)
			c.say(secret)
		}, 1, nil},
		"a word of the contract after a rotation": {func(c *collision) { c.redactRotated(1, "event_type"); c.say("x") }, 1, []string{word}},
	}
	apart := map[string]history{ // what they change, or what is refused of them, is of no tenant
		"an erased subject, redacted": {func(c *collision) {
			c.send(of(secret, 900, "a note"))
			c.redact(1, secret)
			c.erased(secret)
		}, 0, nil},
		"an erased subject, redacted and revoked": {func(c *collision) {
			c.send(of(secret, 900, "a note"))
			c.redact(1, secret)
			c.revoked(1)
			c.erased(secret)
			c.say(secret)
		}, 1, nil},
		"an erasure of the redaction's session": {func(c *collision) { c.redact(1, secret); c.erased("session:s-1"); c.say(secret) }, 0, []string{again}},
		"an erasure of the revocation's session": {func(c *collision) {
			c.redact(1, secret)
			c.revoked(1)
			c.erased("session:s-1")
			c.say(secret)
		}, 1, nil},
		"an erasure of refused remains": {func(c *collision) {
			c.redact(1, secret)
			c.say(secret)
			c.erased(erasedSubject)
		}, 0, []string{again}},
		"an erasure twice": {func(c *collision) {
			c.send(of(erasedSubject, 900, "a note"))
			c.erased(erasedSubject)
			if done, err := c.erase(erasedSubject); err != nil || !done.IsZero() {
				c.t.Errorf("the second time: %+v, %v", done, err)
			}
		}, 0, nil},
		"an erasure of nobody": {func(c *collision) {
			if done, err := c.erase("nobody"); err != nil || !done.IsZero() {
				c.t.Errorf("%+v, %v", done, err)
			}
		}, 0, nil},
		"a value before its redaction, erased": {func(c *collision) {
			c.send(of(erasedSubject, 900, secret))
			c.redact(1, secret)
			c.erased(erasedSubject)
		}, 0, nil},
		"an erased event sent again": {func(c *collision) {
			c.send(of(erasedSubject, 900, "a note"))
			c.erased(erasedSubject)
			c.send(of(erasedSubject, 900, "a note"))
			c.erased(erasedSubject)
		}, 0, nil},
		"its tenant's subject": {func(c *collision) { c.redact(1, "ctx.v1."+c.tenant+"."); c.say("x") }, 1, []string{again}},
		"revoked during a rebuild": {func(c *collision) {
			c.redact(1, secret)
			c.say(secret)
			c.beside(func() {
				c.revoked(1)
				c.say(secret)
				c.redact(3, secret)
				c.say(secret)
			})
		}, 1, []string{again, again}},
		"erased during a rebuild": {func(c *collision) {
			c.send(of(erasedSubject, 900, "a note"))
			c.send(of(erasedSubject, 901, secret))
			c.redact(1, secret)
			c.beside(func() {
				if _, err := c.erase(erasedSubject); err == nil || !strings.Contains(err.Error(), "a rebuild is running") {
					c.t.Errorf("the erasure ended with %v", err)
				}
				c.say(secret)
			})
			c.erased(erasedSubject)
		}, 0, []string{again}},
	}
	const perLedger = 7
	for names := range slices.Chunk(slices.Sorted(maps.Keys(together)), perLedger) {
		t.Run(names[0]+" and more", func(t *testing.T) { collide(t, names, together) })
	}
	for name := range apart {
		t.Run(name, func(t *testing.T) { collide(t, []string{name}, apart) })
	}
}

// collide plays histories in one ledger, one after the other.
func collide(t *testing.T, names []string, of map[string]history) {
	t.Parallel()
	f := newFixture(t)
	tenants, keys := tenants(t, len(names))
	guarded := func(log *logbook) *Projector {
		p := f.guarded(log)
		p.config.Keys = keys
		return p
	}
	stop := f.follow(guarded(new(logbook)))
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			h, c := of[name], &tenants[i]
			c.fixture, c.t, c.rings, c.project = f, t, keys, func() { f.flush(); f.awaitLevel() }
			h.play(c)
			if kept := c.kept(); kept != h.kept {
				t.Errorf("%d events are kept, want %d", kept, h.kept)
			}
			tenant := c.tenant
			if len(names) == 1 {
				tenant = "" // a refused message may not show its tenant
			}
			if codes := c.codes(tenant); !slices.Equal(codes, h.codes) {
				t.Errorf("refused for %q, want %q", codes, h.codes)
			}
		})
	}
	stop()
	log := new(logbook)
	f.must(f.run(guarded(log))) // a restart finds nothing to mend
	if strings.Contains(log.String(), "tables_behind") || strings.Contains(log.String(), "rows_restored") {
		t.Error(log)
	}
	r := f.rebuild()
	r.CompareOnly, r.Keys, r.BatchMessages = true, keys, 3 // batches end within a history
	if done := f.rebuilt(r); len(done.Compared.Differences) > 0 {
		t.Errorf("a rebuild differs: %+v", done.Compared.Differences)
	}
}
