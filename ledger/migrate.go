package ledger

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed statements/*.sql
var statementFiles embed.FS

// statement returns the SQL of a file in statements/. A missing file is a
// programming error.
func statement(name string) string {
	text, err := statementFiles.ReadFile("statements/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}

// A Migration is one file of migrations/, NNNN_verb.sql. Released ones never
// change; a new state is a new file.
type Migration struct {
	Version    uint32
	Name       string
	Statements []string
}

// Migrations returns all migrations in order. Two of one number are a programming
// error.
func Migrations() []Migration {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err)
	}
	slices.Sort(files)
	list := make([]Migration, len(files))
	for i, file := range files {
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "migrations/"), ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			panic(fmt.Sprintf("migration %s: the name must start with a number", name))
		}
		if i > 0 && list[i-1].Version == uint32(version) {
			panic(fmt.Sprintf("migrations %s and %s have one number: the second would never be applied", list[i-1].Name, name))
		}
		list[i] = Migration{Version: uint32(version), Name: name, Statements: splitStatements(string(text))}
	}
	return list
}

// splitStatements cuts a file at its semicolons and leaves out comments. A
// semicolon or a comment's mark within quotes is text.
func splitStatements(text string) []string {
	var statements []string
	var current strings.Builder
	end := func() {
		if s := strings.TrimSpace(current.String()); s != "" {
			statements = append(statements, s)
		}
		current.Reset()
	}
	for text != "" {
		n := 1
		switch {
		case text[0] == ';':
			end()
			text = text[1:]
			continue
		case strings.HasPrefix(text, "--"):
			text = text[lengthTo(text, "\n"):]
			continue
		case strings.HasPrefix(text, "/*"):
			text = text[2+lengthTo(text[2:], "*/"):]
			text = strings.TrimPrefix(text, "*/")
			continue
		case strings.ContainsRune("'\"`", rune(text[0])):
			n = quoted(text)
		}
		current.WriteString(text[:n])
		text = text[n:]
	}
	end()
	return statements
}

func lengthTo(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i
	}
	return len(text)
}

// quoted returns the length of the quoted text that text begins with. A doubled
// quote reads as two texts in a row, which comes to the same.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// Migrate brings the database to the newest state and returns the names of
// the migrations that it applied. It may be called again at any time, also
// after it was interrupted: every statement is idempotent. A swap that a rebuild
// was cut off in is finished first.
func (l *Ledger) Migrate(ctx context.Context) ([]string, error) {
	if _, err := l.FinishSwap(ctx); err != nil {
		return nil, err
	}
	all := Migrations()
	if err := l.exec(ctx, all[0].Statements); err != nil {
		return nil, fmt.Errorf("migration %s: %w", all[0].Name, err)
	}
	done, err := l.migrated(ctx)
	if err != nil {
		return nil, err
	}
	var applied []string
	for _, m := range all {
		if slices.Contains(done, m.Version) {
			continue
		}
		if err := l.apply(ctx, m); err != nil {
			return applied, err
		}
		applied = append(applied, m.Name)
	}
	return applied, nil
}

// apply executes a migration and records it.
func (l *Ledger) apply(ctx context.Context, m Migration) error {
	if err := l.exec(ctx, m.Statements); err != nil {
		return fmt.Errorf("migration %s: %w", m.Name, err)
	}
	params := clickhouse.Parameters{"version": strconv.Itoa(int(m.Version)), "name": m.Name}
	if err := l.conn.Exec(l.with(ctx, params), statement("record_migration")); err != nil {
		return fmt.Errorf("record migration %s: %w", m.Name, err)
	}
	return nil
}

// Pending returns the names of the migrations that Migrate would apply.
func (l *Ledger) Pending(ctx context.Context) ([]string, error) {
	done, err := l.migrated(ctx)
	if err != nil && !NotMigrated(err) {
		return nil, err
	}
	var names []string
	for _, m := range Migrations() {
		if !slices.Contains(done, m.Version) {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

func (l *Ledger) migrated(ctx context.Context) ([]uint32, error) {
	rows, err := l.conn.Query(ctx, statement("migrated"))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	defer rows.Close()
	var versions []uint32
	for rows.Next() {
		var v uint32
		if err := rows.Scan(&v); err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		versions = append(versions, v)
	}
	return versions, rows.Err()
}

// ownDatabase stands in a migration for the ledger's database: where a view gives another
// its parameters, the server does not complete the name as it does that of a table, and
// would look for it in the database of whoever asks.
const ownDatabase = "{database}"

func (l *Ledger) exec(ctx context.Context, statements []string) error {
	var database string
	if err := l.conn.QueryRow(ctx, "SELECT currentDatabase()").Scan(&database); err != nil {
		return err
	}
	for _, s := range statements {
		if err := l.conn.Exec(ctx, strings.ReplaceAll(s, ownDatabase, "`"+database+"`")); err != nil {
			return err
		}
	}
	return nil
}
