package migrate

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// TestAReleasedChangeStaysAsItIs: databases have recorded the SHA-256 of a change and refuse
// another one.
func TestAReleasedChangeStaysAsItIs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/released.txt")
	if err != nil {
		t.Fatal(err)
	}
	released := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		digest, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		released[file] = digest
	}
	for _, c := range current().changes {
		if c.file == "" {
			continue
		}
		if released[c.file] == "" {
			t.Errorf("add %s  %s to testdata/released.txt", c.digest, c.file)
		} else if released[c.file] != c.digest {
			t.Errorf("%s was changed after its release: put it back and add another change", c.file)
		}
		delete(released, c.file)
	}
	for file := range released {
		t.Errorf("%s was released and is gone", file)
	}
}

// TestHeadersNameWhatIsNeeded compares the line "Needs:" of each header with the tables and views
// in the statement.
func TestHeadersNameWhatIsNeeded(t *testing.T) {
	t.Parallel()
	for _, d := range current().definitions {
		file := "sql/views/" + d.name + ".sql"
		if check, ok := strings.CutPrefix(d.name, "check_"); ok {
			if check, ok = strings.CutSuffix(check, "_of"); !ok {
				continue // generated
			}
			file = "sql/checks/" + check + ".sql"
		}
		text, err := files.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		header, _, _ := strings.Cut(string(text), createView)
		needs := strings.Join(d.needs, ", ")
		if needs == "" {
			needs = "nothing"
		}
		if want := "Needs: " + needs + "."; !strings.Contains(strings.ReplaceAll(header, "\n--", ""), want) {
			t.Errorf("%s: the header lacks the line %q", file, "-- "+want)
		}
	}
}

func TestEveryColumnOfAViewHasAMeaning(t *testing.T) {
	t.Parallel()
	used := make(map[string]bool)
	for _, v := range Views() {
		if !strings.HasSuffix(v.Title, ".") || len(v.Columns) == 0 {
			t.Errorf("%s: %q, %d columns", v.Name, v.Title, len(v.Columns))
		}
		for _, c := range v.Columns {
			if c.Unit == "" || c.About == "" || c.Type == "" {
				t.Errorf("%s.%s: %+v", v.Name, c.Name, c)
			}
			used[c.Name] = true
		}
	}
	sql, _ := fs.Sub(files, "sql")
	meanings, err := readMeanings(sql)
	if err != nil || len(meanings) < 200 {
		t.Errorf("%d meanings, %v", len(meanings), err)
	}
	for name := range meanings {
		if !used[name] {
			t.Errorf("columns.txt tells of %s, which no view has", name)
		}
	}
	if v, ok := GetView("gaps"); !ok || v.Columns[0].Name != "tenant" {
		t.Errorf("gaps: %+v", v)
	}
	if _, ok := GetView("nosuch"); ok {
		t.Error("a view that is not there was found")
	}
}

// small returns a release of one table and three views.
func small() fstest.MapFS {
	files := map[string]string{
		"of_tenant.sql":             "-- of a tenant\n(tenant = {tenant:String})",
		"of_all.sql":                "CREATE OR REPLACE VIEW {check} AS SELECT * FROM {database}.{check}_of(tenant = '')",
		"columns.txt":               "root_run_id  the run\n",
		"catalogue.txt":             "recorded_events\n",
		"retired.txt":               "# none\n",
		"legacy/numbers.txt":        "0001_create\n0002_alter\n",
		"legacy/0002_alter.sql":     "ALTER TABLE events ADD COLUMN IF NOT EXISTS tenant String;",
		"tables/migrations.sql":     "CREATE TABLE IF NOT EXISTS migrations (version UInt32, name String) ENGINE = ReplacingMergeTree ORDER BY version",
		"tables/definitions.sql":    "CREATE TABLE IF NOT EXISTS definitions (name String, digest String) ENGINE = ReplacingMergeTree ORDER BY name",
		"tables/events.sql":         "CREATE TABLE IF NOT EXISTS events (root_run_id String, tenant String) ENGINE = MergeTree ORDER BY root_run_id",
		"views/recorded_events.sql": "-- One row an event.\n--\n--   root_run_id  String  id\nCREATE OR REPLACE VIEW recorded_events AS SELECT * FROM events;",
		"views/runs.sql":            "-- One row a run.\n--\n--   HEAD\n--   n  UInt64  count  how\n--       many\nCREATE OR REPLACE VIEW runs AS SELECT root_run_id, count() AS n FROM recorded_events GROUP BY root_run_id;",
		"views/alone.sql":           "-- One row.\n--\n--   n  UInt8  count  one\nCREATE OR REPLACE VIEW alone AS SELECT 1 AS n;",
		"checks/strange.sql":        "-- Strange.\n--\n--   root_run_id  String  id\nCREATE OR REPLACE VIEW check_strange_of AS\nWITH events_of AS (SELECT * FROM events) SELECT root_run_id FROM events_of WHERE {of_tenant};",
	}
	sql := make(fstest.MapFS)
	for name, text := range files {
		sql[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return sql
}

func edited(sql fstest.MapFS, name, text string) fstest.MapFS {
	sql = maps.Clone(sql)
	if sql[name] = &(fstest.MapFile{Data: []byte(text)}); text == "" {
		delete(sql, name)
	}
	return sql
}

func TestReadRelease(t *testing.T) {
	t.Parallel()
	r, err := readRelease(small())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, d := range r.definitions {
		order = append(order, d.name)
	}
	if want := []string{"alone", "check_strange_of", "recorded_events", "runs", "check_strange"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
	i := slices.IndexFunc(r.views, func(v View) bool { return v.Name == "runs" })
	if got := fmt.Sprint(r.views[i]); got != "{runs One row a run. [{root_run_id String id the run} {n UInt64 count how many}]}" {
		t.Errorf("the header reads as %s", got)
	}
	if text := r.definitions[1].text; !strings.HasSuffix(text, "WHERE (tenant = {tenant:String})") {
		t.Errorf("the check is %q", text)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"another name":    {"views/alone.sql", "CREATE OR REPLACE VIEW other AS SELECT 1", "want one statement, CREATE OR REPLACE VIEW alone AS …"},
		"two statements":  {"views/alone.sql", "CREATE OR REPLACE VIEW alone AS SELECT 1; SELECT 2", "want one statement"},
		"no such table":   {"views/alone.sql", "CREATE OR REPLACE VIEW alone AS SELECT 1 FROM nosuch", "alone reads nosuch, which is neither"},
		"a circle":        {"views/alone.sql", "CREATE OR REPLACE VIEW alone AS SELECT 1 FROM alone", "alone needs itself"},
		"no meaning":      {"views/alone.sql", "-- A.\n--\n--   n  UInt8  count\nCREATE OR REPLACE VIEW alone AS SELECT 1 AS n", "has the meaning of n"},
		"no unit":         {"views/alone.sql", "-- A.\n--\n--   n  UInt8\nCREATE OR REPLACE VIEW alone AS SELECT 1 AS n", "want its name, type and unit"},
		"a table":         {"tables/events.sql", "CREATE TABLE events (n Int8) ENGINE = Memory", "want one statement, CREATE TABLE IF NOT EXISTS events …"},
		"a check":         {"checks/strange.sql", "CREATE OR REPLACE VIEW strange AS SELECT 1", "want one statement, CREATE OR REPLACE VIEW check_strange_of AS …"},
		"not a number":    {"changes/later.sql", "SELECT 1", "the name must start with a number"},
		"a number twice":  {"changes/0002_other.sql", "SELECT 1", "each only once"},
		"a legacy number": {"legacy/0003_other.sql", "SELECT 1", "legacy/numbers.txt has the names of legacy/"},
		"a change again":  {"changes/0002_alter.sql", "SELECT 1", "legacy/numbers.txt has the names of legacy/"},
		"no such view":    {"catalogue.txt", "nosuch", "there is no view nosuch"},
		"no list":         {"retired.txt", "", "retired.txt"},
	} {
		if _, err := readRelease(edited(small(), c.file, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

func uuids(t *testing.T, conn driver.Conn) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, pair := range list(t, conn, "SELECT name || ' ' || toString(uuid) FROM system.tables WHERE database = currentDatabase()") {
		name, id, _ := strings.Cut(pair, " ")
		all[name] = id
	}
	return all
}

// TestUpMakesWhatChanged migrates a database from one release to another. Only changed objects and
// their dependents are made again.
func TestUpMakesWhatChanged(t *testing.T) {
	t.Parallel()
	was := small()
	for name, c := range map[string]struct {
		now     fstest.MapFS
		applied []string
		made    []string
		gone    string
	}{
		"nothing": {was, nil, nil, ""},
		"a header": {edited(was, "views/alone.sql", "-- One row of one.\n--\n--   n  UInt8  count  exactly one\nCREATE OR REPLACE VIEW alone AS SELECT 1 AS n;"),
			nil, nil, ""},
		"a view": {edited(was, "views/recorded_events.sql", "-- One row an event.\n--\n--   root_run_id  String  id\nCREATE OR REPLACE VIEW recorded_events AS SELECT * FROM events WHERE 1;"),
			[]string{"2 views"}, []string{"recorded_events", "runs"}, ""},
		"the condition of the checks": {edited(was, "of_tenant.sql", "({tenant:String} = tenant)"), []string{"2 views"}, []string{"check_strange", "check_strange_of"}, ""},
		"a table": {edited(edited(was, "tables/events.sql", "CREATE TABLE IF NOT EXISTS events (root_run_id String, tenant String, more Int8) ENGINE = MergeTree ORDER BY root_run_id"),
			"changes/0091_more.sql", "ALTER TABLE events ADD COLUMN IF NOT EXISTS more Int8"),
			[]string{"0091_more", "4 views"}, []string{"check_strange", "check_strange_of", "recorded_events", "runs"}, ""},
		"a new table":    {edited(was, "tables/later.sql", "CREATE TABLE IF NOT EXISTS later (n Int8) ENGINE = MergeTree ORDER BY n"), []string{"table later"}, []string{"later"}, ""},
		"a new view":     {edited(was, "views/later.sql", "-- One.\nCREATE OR REPLACE VIEW later AS SELECT 1 AS n"), []string{"1 view"}, []string{"later"}, ""},
		"a retired view": {edited(edited(was, "views/alone.sql", ""), "retired.txt", "nosuch\nalone\n"), []string{"1 view"}, nil, "alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := empty(t)
			read := func(sql fstest.MapFS) *release {
				r, err := readRelease(sql)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			mustUp(t, conn, read(was))
			before := uuids(t, conn)
			if applied := mustUp(t, conn, read(c.now)); !slices.Equal(applied, c.applied) {
				t.Errorf("applied %v, want %v", applied, c.applied)
			}
			after := uuids(t, conn)
			var made []string
			for name, id := range after {
				if before[name] != id {
					made = append(made, name)
				}
			}
			if slices.Sort(made); !slices.Equal(made, c.made) {
				t.Errorf("made %v, want %v", made, c.made)
			}
			if _, ok := after[c.gone]; ok {
				t.Errorf("%s is still there", c.gone)
			}
			commented(t, conn, read(c.now))
			fresh := empty(t)
			mustUp(t, fresh, read(c.now))
			same(t, conn, shape(t, fresh))
			if applied := mustUp(t, conn, read(c.now)); len(applied) > 0 {
				t.Errorf("a second migration applied %v", applied)
			}
		})
	}
}
