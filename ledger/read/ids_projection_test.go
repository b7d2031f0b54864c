package read_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// The inner query of sessions begins and ends with these texts. wholeEvents selects the same from all
// events: FINAL never reads a projection.
const (
	beginOfSessions = "SELECT tenant, session_id, source, agent,"
	endOfSessions   = "GROUP BY tenant, session_id, source, agent"
	wholeEvents     = `SELECT tenant, session_id, agent, event_time AS newest
		FROM events FINAL
		WHERE ({tenant:String} IN ('', tenant) OR {tenant:String} = 'default' AND tenant = '')
			AND NOT has((SELECT groupArray((toString(tenant), session_id, toString(source))) FROM retold), (toString(tenant), session_id, toString(source)))
			AND ({model:String} = '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM calls WHERE model = {model:String}))`
)

// innerOfSessions returns the inner query of sessions.
func innerOfSessions(t *testing.T, sql string) string {
	t.Helper()
	_, inner, begins := strings.Cut(sql, beginOfSessions)
	inner, _, ends := strings.Cut(inner, endOfSessions)
	if !begins || !ends {
		t.Fatal("the query sessions has another text: bring this test up to date")
	}
	return beginOfSessions + inner + endOfSessions
}

// A projected ledger is one that a test changes in random ways.
type projected struct {
	t      *testing.T
	ledger *ledger.Ledger
	random *rand.Rand
	stream uuid.UUID
	last   int // sequence
}

// TestIDsAreExactWithoutFinal compares the list of sessions and the search with all events. In random
// order, blocks are inserted, inserted again, merged, evicted and erased, and sources are retold.
func TestIDsAreExactWithoutFinal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := &projected{t: t, ledger: ledgertest.Open(t), random: rand.New(rand.NewPCG(seed, 24)), stream: uuid.New()}
			p.insert()
			for _, step := range p.steps() {
				step.do()
				p.compare(step.name)
			}
		})
	}
}

type step struct {
	name string
	do   func()
}

// steps returns every kind of change in random order.
func (p *projected) steps() []step {
	all := []step{
		{"insert", p.insert}, {"insert", p.insert}, {"insert again", p.insertAgain}, {"insert again", p.insertAgain}, {"evict", p.evict},
		{"erase", p.erase}, {"merge", func() { p.exec("OPTIMIZE TABLE events FINAL") }}, {"retell", p.retell},
		{"count again", func() { p.exec("DELETE FROM retold WHERE cityHash64(source, %d) %% 2 = 0", p.random.Uint32()) }},
	}
	p.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (p *projected) exec(sql string, arguments ...any) {
	p.t.Helper()
	if err := ledgertest.DB(p.ledger).Conn.Exec(p.t.Context(), fmt.Sprintf(sql, arguments...)); err != nil {
		p.t.Fatal(err)
	}
}

// insert stores up to 40 events of two months. Some have a call.
func (p *projected) insert() {
	n, columns := 1+p.random.IntN(40), "incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, tenant, agent, session_id, thread_id, turn_id, run_id, task_id, attempt_id"
	var values []string
	for range n {
		p.last++
		recorded := time.Date(2026, 9, 30, 23, 0, 0, 0, time.UTC).Add(time.Duration(p.last) * 30 * time.Second)
		told := recorded.Add(time.Duration(p.random.IntN(3)-1) * 26 * time.Hour)
		one := func(kind string, kinds int) string {
			if i := p.random.IntN(kinds); i > 0 {
				return fmt.Sprintf("'%s-%d'", kind, i)
			}
			return "''"
		}
		values = append(values, fmt.Sprintf("('%s', %d, '%s', '%s', 'e%d', %s, 'context.item.added', '%s', %s, %s, %s, %s, %s, %s, %s)",
			p.stream, p.last, recorded.Format("2006-01-02 15:04:05"), told.Format("2006-01-02 15:04:05"), p.last, one("urn:source", 6),
			[]string{"", "default", "acme", "globex"}[p.random.IntN(4)], one("agent", 3), one("s", 7), one("thread", 4), one("turn", 12),
			one("run", 5), one("task", 3), one("try", 3)))
	}
	p.exec("INSERT INTO events (%s) SETTINGS async_insert = 0, insert_deduplicate = 0, max_partitions_per_insert_block = 0 VALUES %s", columns, strings.Join(values, ", "))
	p.exec("INSERT INTO calls (%[1]s, call_id, model) SELECT %[1]s, concat('call-', toString(stream_seq)), concat('model-', toString(stream_seq %% 3)) FROM events WHERE stream_seq > %[2]d AND stream_seq %% 4 = 0", columns, p.last-n)
}

// someSequences returns a condition for a random part of the events.
func (p *projected) someSequences() string {
	first := p.random.IntN(p.last)
	return fmt.Sprintf("stream_seq BETWEEN %d AND %d", first, first+p.random.IntN(20))
}

func (p *projected) insertAgain() {
	p.exec("INSERT INTO events SELECT * FROM events WHERE %s SETTINGS insert_deduplicate = 0, max_partitions_per_insert_block = 0", p.someSequences())
}

func (p *projected) evict() { p.exec("DELETE FROM events WHERE %s", p.someSequences()) }

func (p *projected) erase() {
	p.exec("ALTER TABLE events DELETE WHERE %s SETTINGS mutations_sync = 2", p.someSequences())
}

func (p *projected) retell() {
	p.exec("INSERT INTO retold SELECT DISTINCT tenant, session_id, source, now() FROM events WHERE cityHash64(session_id, source, %d) %% 4 = 0", p.random.Uint32())
}

// compare compares what reads the projection with the same over all events.
func (p *projected) compare(step string) {
	p.t.Helper()
	sessions, err := queries.Get("sessions")
	if err != nil {
		p.t.Fatal(err)
	}
	whole := strings.Replace(sessions.SQL, innerOfSessions(p.t, sessions.SQL), wholeEvents, 1)
	filters := []map[string]string{
		{}, {"limit": "2"}, {"tenant": "acme"}, {"tenant": "default", "agent": "agent-1"}, {"model": "model-1"}, {"day": "2026-10-01"},
		{"before": "2026-10-01T00:10:00Z", "before_tenant": "acme", "before_session": "s-3"},
	}
	for _, i := range p.random.Perm(len(filters))[:3] {
		arguments := filters[i]
		values, err := sessions.Bind(arguments)
		if err != nil {
			p.t.Fatal(err)
		}
		same(p.t, fmt.Sprint(step, arguments), rows(p.t, p.ledger, sessions.SQL, values), rows(p.t, p.ledger, whole, values))
	}
	for _, i := range p.random.Perm(len(read.IDColumns))[:3] {
		column, table := read.IDColumns[i], "events"
		if column == read.CallID {
			table = "calls"
		}
		statement := fmt.Sprintf(`SELECT %[1]s, argMax(session_id, recorded_at), argMax(tenant, recorded_at)
			FROM %[2]s FINAL
			WHERE startsWith(%[1]s, {beginning:String}) AND %[1]s != '' AND ({session:String} = '' OR session_id = {session:String})
				AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
			GROUP BY %[1]s
			ORDER BY %[1]s = {beginning:String} DESC, max(recorded_at) DESC, %[1]s
			LIMIT {limit:UInt32}`, column, table)
		for _, of := range [][3]string{{"", "", ""}, {"t", "default", ""}, {"s", "", "s-2"}, {"unknown", "", ""}} {
			list, err := read.Of(p.ledger).IDs(p.t.Context(), column, of[0], of[1], of[2], 5)
			if err != nil {
				p.t.Fatal(err)
			}
			var got [][]string
			for _, id := range list {
				got = append(got, []string{id.ID, id.Session, id.Tenant})
				place, found, err := read.PlaceOf(p.t.Context(), read.Of(p.ledger), column, id.ID, of[1])
				if err != nil || !found || of[2] == "" && place != id {
					p.t.Errorf("%s: the place of %s %s is %v, %t, %v; want %v", step, column, id.ID, place, found, err, id)
				}
			}
			want := rows(p.t, p.ledger, statement, map[string]string{"beginning": of[0], "tenant": of[1], "session": of[2], "limit": "5"})
			same(p.t, fmt.Sprint(step, column, of), got, want)
		}
		if _, found, err := read.PlaceOf(p.t.Context(), read.Of(p.ledger), column, "unknown", ""); found || err != nil {
			p.t.Errorf("an unknown id of %s: %t, %v", column, found, err)
		}
	}
}

// TestAWholeIDComesFirst asks for an id with which many newer ids begin.
func TestAWholeIDComesFirst(t *testing.T) {
	t.Parallel()
	p := &projected{t: t, ledger: ledgertest.Open(t)}
	p.exec(`INSERT INTO events (incarnation, stream_seq, recorded_at, tenant, session_id, turn_id)
		SELECT '%s', number, toDateTime(number), 'acme', 's', concat('t', number = 0 ? '' : toString(number)) FROM numbers(30)`, uuid.New())
	list, err := read.Of(p.ledger).IDs(t.Context(), read.TurnID, "t", "", "", 3)
	if err != nil || len(list) != 3 || list[0].ID != "t" || list[1].ID != "t29" {
		t.Errorf("the ids are %v, %v", list, err)
	}
}

// TestIDsAreReadFromTheProjection: the plans of the list and of the search read the projection, for
// each filter.
func TestIDsAreReadFromTheProjection(t *testing.T) {
	t.Parallel()
	p := &projected{t: t, ledger: ledgertest.Open(t)}
	p.exec(`INSERT INTO events (incarnation, stream_seq, recorded_at, tenant, session_id, thread_id, turn_id, run_id, task_id, attempt_id)
		SELECT '%s', number, now(), 'acme', concat('s-', toString(number %% 3)), 'x-1', 'x-1', 'x-1', 'x-1', 'x-1' FROM numbers(50000)`, uuid.New())
	p.exec("INSERT INTO calls (tenant, session_id, model) SELECT DISTINCT tenant, session_id, 'model-1' FROM events")
	plan := func(sql string, parameters map[string]string) {
		t.Helper()
		lines := rows(t, p.ledger, "EXPLAIN PLAN "+sql, parameters)
		if !slices.ContainsFunc(lines, func(l []string) bool { return strings.Contains(l[0], "ReadFromMergeTree (ids)") }) {
			t.Errorf("the plan does not read the projection: %v %s\n%v", parameters, sql, lines)
		}
	}
	sessions, err := queries.Get("sessions")
	if err != nil {
		t.Fatal(err)
	}
	inner := innerOfSessions(t, sessions.SQL)
	for _, arguments := range []map[string]string{{"tenant": "", "model": ""}, {"tenant": "acme", "model": ""}, {"tenant": "", "model": "model-1"}} {
		plan(inner, arguments)
	}
	for _, name := range []string{"ids", "ids_exact"} {
		text, err := os.ReadFile("statements/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range read.IDColumns {
			if column != read.CallID {
				sql := strings.ReplaceAll(strings.ReplaceAll(string(text), "{column:Identifier}", string(column)), "{table:Identifier}", "events")
				id := map[bool]string{true: "s-1", false: "x-1"}[column == read.SessionID]
				plan(sql, map[string]string{"beginning": id, "id": id, "tenant": "", "session": "", "limit": "5"})
			}
		}
	}
}
