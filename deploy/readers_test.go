package deploy_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// hidden are facts of the tenant zeta-2 with words that no fact of another tenant has.
func hidden() (list []*schema.Event) {
	for i := range 40 {
		id := fmt.Sprint("zebra-", i)
		for _, f := range []schema.Fact{
			&schema.ItemAdded{Item: schema.Item{ItemID: id, Title: id + " striped"}},
			&schema.LogAppended{LogItemID: id, ItemType: id, Position: new(int64(i))},
		} {
			list = append(list, fact("urn:zebra", fmt.Sprint(id, "-", len(list)), "zeta-2", id, f))
		}
	}
	return list
}

// told returns all that a server answers: the rows or the error.
func told(t *testing.T, conn clickhouse.Conn, sql string) (answer string, refused bool) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err == nil {
		defer rows.Close()
		columns := rows.ColumnTypes()
		for rows.Next() {
			values := make([]any, len(columns))
			for i, c := range columns {
				values[i] = newOf(c)
			}
			if err := rows.Scan(values...); err != nil {
				return answer + err.Error(), false
			}
			for i := range values {
				answer += fmt.Sprintf("%+v ", deref(values[i]))
			}
			answer += "\n"
		}
		err = rows.Err()
	}
	var exception *clickhouse.Exception
	if err != nil && !errors.As(err, &exception) {
		return answer + err.Error(), false
	}
	if err != nil {
		answer += err.Error()
	}
	return answer, err != nil
}

// TestReadersAttack: no answer that a tenant's reader gets, and no error, has a word of the other tenant.
func TestReadersAttack(t *testing.T) {
	in := install(t)
	in.project(t, hidden()...)
	acme := in.open(t, in.address(t, "clickhouse-reader-acme", in.host))
	other := in.open(t, in.address(t, "clickhouse-reader-zeta-2", in.host))
	if answer, _ := told(t, other, "SELECT title, item_id FROM items"); strings.Count(answer, "zebra") < 40 {
		t.Fatalf("the other tenant sees %s", answer)
	}
	texts := map[string]string{"recorded_events": "data", "item_versions": "title", "items": "title", "log_items": "item_type", "events": "data", "refused_events": "reason", "check_sequence_gaps": "source"}
	tried := 0
	for _, a := range sqlAttacks {
		t.Run(a.class, func(t *testing.T) {
			for _, statement := range a.sql {
				relations := relationsOfAttack
				if !strings.Contains(statement, "{view}") {
					relations = relations[:1]
				}
				for _, relation := range relations {
					sql := strings.NewReplacer("{view}", relation, "{text}", texts[relation]).Replace(statement)
					answer, refused := told(t, acme, sql)
					tried++
					rest := strings.ToLower(answer)
					for _, of := range []string{sql, strings.ReplaceAll(sql, "'", "\\'")} { // an error may repeat the statement
						rest = strings.ReplaceAll(rest, strings.ToLower(of), "")
					}
					for _, word := range []string{"zeta-2", "zebra"} {
						if strings.Contains(rest, word) && !strings.Contains(strings.ToLower(sql), word) || strings.Contains(rest, "zebra-") || strings.Contains(rest, "urn:test:zeta") {
							t.Errorf("%s\ntold %s", sql, answer)
						}
					}
					const thrown, divided = "code: 395,", "code: 153,"
					if !strings.Contains(sql, "throwIf(1") && (strings.Contains(answer, thrown) || strings.Contains(answer, divided)) {
						t.Errorf("%s\ntold by its error that there is such a row: %s", sql, answer)
					}
					if a.refused && !refused {
						t.Errorf("%s\nis not refused: %.300s", sql, answer)
					}
				}
			}
		})
	}
	if tried < 300 {
		t.Errorf("only %d statements were tried", tried)
	}
	for _, user := range []string{"rows_acme", "rows_zeta-2"} {
		for _, password := range []string{"", "x", strings.Repeat("0", 64)} {
			options, err := clickhouse.ParseDSN(in.address(t, "clickhouse-reader-acme", in.host))
			if err != nil {
				t.Fatal(err)
			}
			options.Auth.Username, options.Auth.Password = user, password
			conn, err := clickhouse.Open(options)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Ping(t.Context()); err == nil {
				t.Errorf("%s signed in with %q", user, password)
			}
			conn.Close()
		}
	}
}

// TestReadersCatalogue: a tenant's reader gets the answers that the reader of all tenants gets about the
// tenant.
func TestReadersCatalogue(t *testing.T) {
	in := install(t)
	in.project(t, hidden()...)
	open := func(dsn string) *ledger.Ledger {
		l, err := ledger.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	all, acme := open(in.servers.ReaderDSN()), open(in.address(t, "clickhouse-reader-acme", in.host))
	answered := 0
	for _, q := range queries.All() {
		arguments := make(map[string]string)
		for _, p := range q.Parameters {
			switch {
			case p.Name == "tenant":
				arguments[p.Name] = "acme"
			case p.Required:
				arguments[p.Name] = cmp.Or(map[string]string{"session_id": "sess-7f3a", "turn_id": "turn-3", "item_id": "item-readme", "call_id": "call-9", "thread_id": "thread-1"}[p.Name], "x")
			}
		}
		ask := func(l *ledger.Ledger) (rows []string) {
			bound, err := q.Bind(arguments)
			if err != nil {
				t.Fatalf("%s: %v", q.Name, err)
			}
			result, err := turn.Query(t.Context(), l, q, bound, read.DefaultLimits())
			if err != nil {
				t.Errorf("%s: %v", q.Name, err)
				return nil
			}
			defer result.Close()
			for result.Next() {
				row, err := json.Marshal(result.Values())
				if err != nil {
					t.Fatalf("%s: %v", q.Name, err)
				}
				rows = append(rows, string(row))
			}
			if err := result.Err(); err != nil {
				t.Errorf("%s: %v", q.Name, err)
			}
			return rows
		}
		want, got := ask(all), ask(acme)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", q.Name, got, want)
		}
		if len(got) > 0 {
			answered++
		}
	}
	for _, column := range read.IDColumns {
		ids, err := read.Of(acme).IDs(t.Context(), column, "", "", "", 100)
		if err != nil || column == read.SessionID && len(ids) == 0 || slices.ContainsFunc(ids, func(id read.NamedID) bool { return id.Tenant != "acme" }) {
			t.Errorf("ids of %s: %v, %v", column, ids, err)
		}
	}
	if newest, at, err := read.Of(acme).NewestTurn(t.Context(), "", ""); err != nil || at.IsZero() || newest.Tenant != "acme" {
		t.Errorf("the newest turn: %v, %v", newest, err)
	}
	if answered < 35 {
		t.Errorf("only %d queries have rows", answered)
	}
}

func TestReaders(t *testing.T) {
	in := install(t)
	in.project(t)
	l, err := ledger.Open(t.Context(), in.servers.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	writer := in.open(t, in.servers.ClickHouseDSN())
	made := func(want ...string) {
		t.Helper()
		if got, err := shadow.Of(l).Readers(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("made %q, not %q: %v", got, want, err)
		}
	}
	made()
	columns := func(database string) []string {
		return list(t, writer, "SELECT concat(table, '.', name, ' ', type, ' ', comment) FROM system.columns WHERE database = '"+database+"' AND table IN (SELECT table FROM system.columns WHERE database = 'ctxledger_of_acme' AND comment != '') ORDER BY ALL")
	}
	if got, want := columns("ctxledger_of_acme"), columns("ctxledger"); !slices.Equal(got, want) || len(got) < 500 {
		t.Errorf("the columns differ: %d and %d", len(got), len(want))
	}
	if got := list(t, writer, "SELECT name FROM system.tables WHERE database = 'ctxledger_of_acme' AND create_table_query NOT LIKE '%DEFINER = rows_acme SQL SECURITY DEFINER%'"); len(got) > 0 {
		t.Errorf("without the definer: %q", got)
	}
	if got := list(t, writer, "SELECT name FROM system.tables WHERE database = 'ctxledger_of_acme'"); len(got) < len(migrate.Views()) {
		t.Errorf("%d views", len(got))
	}

	for _, sql := range []string{"ALTER DATABASE `ctxledger_of_zeta-2` MODIFY COMMENT 'cut off'", "DROP VIEW `ctxledger_of_zeta-2`.items"} {
		if err := writer.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	made("ctxledger_of_zeta-2")
	if other := in.open(t, in.address(t, "clickhouse-reader-zeta-2", in.host)); count(t, other, "items") == 0 {
		t.Error("the database was not finished")
	}
	got, err := shadow.Of(l).Readers(t.Context(), "unknown")
	if !errors.Is(err, migrate.ErrNoDefiner) || len(got) > 0 || !strings.Contains(err.Error(), "--tenant unknown") {
		t.Errorf("for an unknown tenant: %q, %v", got, err)
	}
	if found := list(t, writer, "SELECT name FROM system.databases WHERE name LIKE '%unknown%'"); len(found) > 0 {
		t.Errorf("left %q", found)
	}
}

func newOf(c interface{ ScanType() reflect.Type }) any { return reflect.New(c.ScanType()).Interface() }

func deref(v any) any { return reflect.ValueOf(v).Elem().Interface() }
