package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// A Progress receives the copied bytes and the sum of all bytes. The sum is 0 while it is
// unknown.
type Progress func(done, total uint64)

// ErrNoFolder means that ClickHouse is not configured to write backups.
var ErrNoFolder = errors.New("ClickHouse may not use the folder of backups: set backups.allowed_path in its configuration, as `ctxledger deploy clickhouse` does")

// Backup copies the named tables to a folder below ClickHouse's folder of backups. The server copies
// on when ctx ends; see [Tables.Quiesce]. Errors: [ErrUnknownTable], or an error of the server.
func (t Tables) Backup(ctx context.Context, folder string, names []string, told Progress) error {
	statement, err := only(t.sql.Text("backup"), 1, names)
	if err != nil {
		return err
	}
	if err := t.run(ctx, statement, chsql.Params{"folder": chsql.Text(folder)}, told); err != nil {
		return fmt.Errorf("copy the tables: %w", err)
	}
	return nil
}

// ErrUnknownTable means that a copy has a table that this program does not know.
var ErrUnknownTable = errors.New("this version of ctxledger does not know the table")

// Restore makes the named tables of a copy in the database of the ledger, which must have none of
// them. An earlier version copied fewer tables. The server works on when ctx ends; see
// [Tables.Quiesce]. Errors: [ErrUnknownTable], or an error of the server.
func (t Tables) Restore(ctx context.Context, folder string, names []string, told Progress) error {
	statement, err := only(t.sql.Text("restore"), 3, names)
	if err != nil {
		return err
	}
	if err := t.run(ctx, statement, chsql.Params{"folder": chsql.Text(folder)}, told); err != nil {
		return fmt.Errorf("restore the tables: %w", err)
	}
	return nil
}

// only leaves out the lines of a BACKUP or RESTORE statement with other tables than the named ones.
// Such a line has the form "TABLE <from> AS <to>,". field is the number of the word with the name.
func only(statement string, field int, names []string) (string, error) {
	var kept strings.Builder
	wanted, left := slices.Clone(names), 0
	for line := range strings.Lines(statement) {
		name, ok := named(line, field)
		if !ok {
			kept.WriteString(line)
			continue
		}
		at := slices.Index(wanted, name)
		if at < 0 {
			continue
		}
		wanted = slices.Delete(wanted, at, at+1)
		if left++; left == len(names) { // the last line of the list has no comma
			line = strings.TrimRight(line, ",\n") + "\n"
		}
		kept.WriteString(line)
	}
	if len(wanted) > 0 {
		return "", fmt.Errorf("%w %s", ErrUnknownTable, wanted[0])
	}
	return kept.String(), nil
}

// Quiesce waits until ClickHouse neither writes nor reads a folder of backups whose name
// contains the text. Quiesce asks the server to stop first.
func (t Tables) Quiesce(ctx context.Context, name string) error {
	params := chsql.Params{"name": chsql.Text(name)}
	for {
		busy, err := t.number(ctx, "busy", params)
		if err != nil || busy == 0 {
			return err
		}
		if err := t.sql.Exec(ctx, "cancel", params); err != nil {
			return fmt.Errorf("stop the work of an earlier run: %w", err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pollEvery is the interval between two questions for the state of the server's work.
const pollEvery = 100 * time.Millisecond

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pollEvery):
		return nil
	}
}

// run starts a statement that the server executes in the background, and waits for its end.
func (t Tables) run(ctx context.Context, statement string, params chsql.Params, told Progress) error {
	var id, status string
	rows, err := t.sql.Conn.Query(clickhouse.Context(ctx, clickhouse.WithParameters(params.Encoded())), statement)
	if err != nil {
		return refused(err)
	}
	for rows.Next() {
		if err := rows.Scan(&id, &status); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return refused(err)
	}
	for {
		var reason string
		var done, total uint64
		found, err := t.sql.First(ctx, "state", chsql.Params{"id": chsql.Text(id)}, &status, &reason, &done, &total)
		switch {
		case err != nil:
			return err
		case !found:
			return errors.New("ClickHouse was restarted meanwhile: run it again")
		case strings.HasSuffix(status, "_FAILED"), strings.HasSuffix(status, "_CANCELLED"):
			return refused(errors.New(reason))
		}
		if told != nil {
			told(done, total)
		}
		if status == "BACKUP_CREATED" || status == "RESTORED" {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// refused returns [ErrNoFolder] for an error of a server without a folder of backups.
func refused(err error) error {
	if strings.Contains(err.Error(), "allowed_path") || strings.Contains(err.Error(), "is not allowed for backups") {
		return fmt.Errorf("%w: %w", ErrNoFolder, err)
	}
	return err
}
