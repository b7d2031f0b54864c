package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/ledger/migrate/migratetest"
)

// noKeeper is the error with which this engine, which has no Keeper, ends a statement that makes a
// replicated table. It comes after all checks of the definition.
const noKeeper = 225

// parsed is a CREATE TABLE as the engine reads it.
type parsed struct {
	columns, engine, arguments, keys string
	settings                         map[string]string
}

var createParts = regexp.MustCompile(`^(CREATE TABLE .*\)) ENGINE = (\w+)(?:\((.*?)\))?((?: PARTITION BY .*)? ORDER BY .*) SETTINGS (.*)$`)

func parse(t *testing.T, conn driver.Conn, statement string) (p parsed) {
	t.Helper()
	var line string
	if err := conn.QueryRow(t.Context(), "SELECT formatQuerySingleLine(?)", statement).Scan(&line); err != nil {
		t.Fatal(statement, err)
	}
	m := createParts.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("the engine formats it as %s", line)
	}
	p = parsed{m[1], m[2], m[3], m[4], make(map[string]string)}
	for setting := range strings.SplitSeq(m[5], ", ") {
		name, value, _ := strings.Cut(setting, " = ")
		p.settings[name] = value
	}
	return p
}

// TestReplicatedTablesDifferInEngineAndTokens compares both definitions of each table by the parser of the
// engine. The engine also accepts each replicated one, up to the missing Keeper.
func TestReplicatedTablesDifferInEngineAndTokens(t *testing.T) {
	t.Parallel()
	conn := empty(t)
	tables := 0
	for _, table := range current().tables {
		if table.name == OwnTable {
			continue
		}
		tables++
		path := KeeperPath("shop", "ledger", table.name)
		made, err := Replicated(table.statement, path)
		if err != nil {
			t.Fatal(table.name, err)
		}
		plain, replicated := parse(t, conn, table.statement), parse(t, conn, made)
		arguments := "'/ctxledger/shop/ledger/{shard}/" + table.name + "', '{replica}'"
		if plain.arguments != "" {
			arguments += ", " + plain.arguments
		}
		if replicated.columns != plain.columns || replicated.keys != plain.keys || replicated.engine != "Replicated"+plain.engine || replicated.arguments != arguments {
			t.Errorf("%s is %+v, and replicated %+v", table.name, plain, replicated)
		}
		want := maps.Clone(plain.settings)
		delete(want, "non_replicated_deduplication_window")
		want["replicated_deduplication_window"] = "0"
		if window, ok := plain.settings["non_replicated_deduplication_window"]; ok {
			want["replicated_deduplication_window"] = window
		}
		want["replicated_deduplication_window_seconds"] = tokenMemory
		if !maps.Equal(replicated.settings, want) {
			t.Errorf("%s has the settings %v, want %v", table.name, replicated.settings, want)
		}
		var server *clickhouse.Exception
		err = conn.Exec(t.Context(), strings.NewReplacer("{shard}", "1", "{replica}", "a").Replace(made))
		if !errors.As(err, &server) || server.Code != noKeeper {
			t.Errorf("%s: the engine says %v", table.name, err)
		}
	}
	if tables < 20 {
		t.Errorf("only %d tables were compared", tables)
	}
}

func TestReplicatedRefusesOtherStatements(t *testing.T) {
	t.Parallel()
	const good = "CREATE TABLE a\n(\n    b UInt8\n)\nENGINE = MergeTree\nORDER BY b\nSETTINGS\n    non_replicated_deduplication_window = 5,\n    index_granularity = 1"
	if _, err := Replicated(good, "/a"); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another engine":   {"MergeTree", "Memory"},
		"replicated twice": {"MergeTree", "ReplicatedMergeTree('/a', 'b')"},
		"the last setting": {"5,\n    index_granularity = 1", "5"},
	} {
		if made, err := Replicated(strings.Replace(good, change[0], change[1], 1), "/a"); err == nil {
			t.Errorf("%s: %s", name, made)
		}
	}
}

// TestChangesAlterBothKindsOfTables: the engine parses every statement of a change, and none depends on the
// kind of the table.
func TestChangesAlterBothKindsOfTables(t *testing.T) {
	t.Parallel()
	conn := empty(t)
	bound := regexp.MustCompile(`(?i)engine|replicated|deduplication_window|\b(ATTACH|DETACH|FREEZE|FETCH|EXCHANGE|RENAME|MOVE)\b`)
	for _, c := range current().changes {
		for _, statement := range c.statements {
			var line string
			if err := conn.QueryRow(t.Context(), "SELECT formatQuerySingleLine(?)", statement).Scan(&line); err != nil {
				t.Fatal(c.name, err)
			}
			name, ok := strings.CutPrefix(line, "ALTER TABLE ")
			name, _, _ = strings.Cut(name, " ")
			known := slices.ContainsFunc(current().tables, func(t table) bool { return t.name == name && name != OwnTable })
			if found := bound.FindString(line); !ok || !known || found != "" {
				t.Errorf("%s: %q (%s) may not work on replicated tables", c.name, line, found)
			}
		}
	}
}

// sharing is a replica without Keeper: its tables are plain, and it records each statement. Its rows are not
// those of other replicas.
type sharing struct {
	driver.Conn
	done []string
}

var replicatedEngine = regexp.MustCompile(`ENGINE = Replicated(\w+)\('[^']*', '\{replica\}'(?:, )?(.*)\)\n`)

func (c *sharing) Exec(ctx context.Context, sql string, args ...any) error {
	c.done = append(c.done, sql)
	return c.Conn.Exec(ctx, replicatedEngine.ReplaceAllString(sql, "ENGINE = $1($2)\n"), args...)
}

// altered returns the tables that were altered, and how many tables were made as replicated ones.
func (c *sharing) altered() (tables []string, replicated int) {
	for _, sql := range c.done {
		if name, ok := strings.CutPrefix(sql, "ALTER TABLE "); ok && !strings.Contains(sql, "COMMENT") {
			tables = append(tables, strings.Fields(name)[0])
		}
		if replicatedEngine.MatchString(sql) {
			replicated++
		}
	}
	return tables, replicated
}

var tokenSettings = regexp.MustCompile(`(non_)?replicated_deduplication_window(_seconds)? = \d+(, |$)`)

func withoutTokens(create string) string {
	return strings.TrimSuffix(tokenSettings.ReplaceAllString(create, ""), ", ")
}

// TestReplicasGetTablesAndOneIsAltered migrates two replicas from nothing and from a released state.
func TestReplicasGetTablesAndOneIsAltered(t *testing.T) {
	t.Parallel()
	want := newShape(t)
	states := migratetest.States()
	for _, state := range []migratetest.State{{Name: "nothing"}, states[len(states)-1]} {
		t.Run(state.Name, func(t *testing.T) {
			t.Parallel()
			first, second := &sharing{Conn: empty(t)}, &sharing{Conn: empty(t)}
			if state.Version > 0 {
				for _, c := range []*sharing{first, second} {
					if err := state.Make(t.Context(), c.Conn); err != nil {
						t.Fatal(err)
					}
				}
			}
			applied, err := UpReplicas(t.Context(), "shop", first, second)
			if err != nil || len(applied) == 0 {
				t.Fatal(applied, err)
			}
			altered, made := first.altered()
			also, madeToo := second.altered()
			if len(also) > 0 || (len(altered) > 0) != (state.Version > 0) || made != madeToo || made == 0 {
				t.Errorf("replicas altered %v and %v, and made %d and %d replicated tables", altered, also, made, madeToo)
			}
			if state.Version == 0 {
				for _, c := range []*sharing{first, second} {
					sameButTokens(t, c.Conn, want)
				}
			}
			if again, err := UpReplicas(t.Context(), "shop", first, second); err != nil || len(again) > 0 {
				t.Errorf("a second migration applied %v: %v", again, err)
			}
			if state.Version > 0 {
				return
			}
			added := &sharing{Conn: empty(t)}
			if again, err := UpReplicas(t.Context(), "shop", added, first); err != nil || fmt.Sprint(again) != addedSteps() {
				t.Errorf("a new replica applied %v: %v", again, err)
			}
			sameButTokens(t, added.Conn, want)
		})
	}
}

// addedSteps are the steps of a new replica.
func addedSteps() string {
	var steps []string
	for _, table := range current().tables {
		steps = append(steps, "table "+table.name)
	}
	return fmt.Sprint(append(steps, fmt.Sprintf("%d views", len(current().definitions))))
}

// sameButTokens is same without the settings of tokens.
func sameButTokens(t *testing.T, conn driver.Conn, want map[string]string) {
	t.Helper()
	got := shape(t, conn)
	for name, text := range want {
		if a, b := withoutTokens(got[name]), withoutTokens(text); a != b {
			t.Errorf("%s is %.300q, want %.300q", name, a, b)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d parts, want %d", len(got), len(want))
	}
}
