package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// IDHelp explains in the help of a command how ids may be given.
const IDHelp = `An id may be given by its beginning, as long as only one id begins so. --turn=#3
takes the id from row 3 of the table that this terminal drew last.`

// IDs are the ids of a command line by column. Each is an id, the beginning of an id, or
// #3 for row 3 of the last table.
type IDs map[read.IDColumn]*string

// FromRows replaces each #n by the id of that row. The row also fills empty ids: a turn
// comes with its session.
func (ids IDs) FromRows(a *App) error {
	for _, column := range read.IDColumns {
		value := ids[column]
		if value == nil || !strings.HasPrefix(*value, "#") {
			continue
		}
		row, err := drawnRow(a, *value)
		if err != nil {
			return err
		}
		id := row[string(column)]
		if id == "" {
			return UsageError("%s: the last table of this terminal has no %s in that row; the row has %s", *value, column, idNames(row))
		}
		*value = id
		for other, empty := range ids {
			if empty != nil && *empty == "" {
				*empty = row[string(other)]
			}
		}
	}
	return nil
}

func idNames(row map[string]string) string {
	var names []string
	for name := range row {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "no id"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Complete replaces beginnings of ids by whole ids, and reports whether it replaced any.
// An unknown id stays; the command reports it. If several ids fit, a terminal is asked.
func (ids IDs) Complete(ctx context.Context, a *App, l *ledger.Ledger, tenant string) (replaced bool, err error) {
	session := ""
	for _, column := range read.IDColumns {
		value := ids[column]
		if value == nil || *value == "" || whole(column, *value) {
			continue
		}
		found, err := read.Of(l).IDs(ctx, column, *value, tenant, session, Choices+1)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(found, func(id read.NamedID) bool { return id.ID == *value })
		if i < 0 && len(found) > 1 {
			if i, err = chooseID(a, column, *value, found); err != nil {
				return false, err
			}
		}
		if i < 0 && len(found) == 1 {
			i = 0
		}
		if i >= 0 && found[i].ID != *value {
			*value, replaced = found[i].ID, true
		}
		if column == read.SessionID {
			session = *value
		}
	}
	return replaced, nil
}

// whole reports whether a value is a whole id for certain: a session's UUID.
func whole(column read.IDColumn, value string) bool {
	return column == read.SessionID && len(value) == 36 && strings.Count(value, "-") == 4
}

func chooseID(a *App, column read.IDColumn, beginning string, found []read.NamedID) (int, error) {
	choices := make([]string, len(found))
	for i, id := range found {
		choices[i] = id.ID
		if column != read.SessionID {
			choices[i] += "  session " + id.Session
		}
	}
	return a.pick(fmt.Sprintf("several ids (%s) begin with %q", column, beginning), choices, "give more of the id")
}

// Newest returns the turn of the newest window, for --last.
func Newest(ctx context.Context, a *App, l *ledger.Ledger, tenant, session string) (read.NamedID, error) {
	turn, at, err := read.Of(l).NewestTurn(ctx, tenant, session)
	if err != nil {
		return turn, err
	}
	return turn, SayNewest(a, turn, at, session)
}

// SayNewest says which turn --last stands for. at is when its window was stored. The zero time means
// that there is no window, which is an error.
func SayNewest(a *App, turn read.NamedID, at time.Time, session string) error {
	switch {
	case at.IsZero() && session != "":
		return fmt.Errorf("--last: session %q has no window; `ctxledger query sessions` lists the sessions", session)
	case at.IsZero():
		return fmt.Errorf("--last: no window is recorded; import a log with `ctxledger import auto PATH`")
	}
	fmt.Fprintf(a.Err, "newest: turn %s of session %s\n", ui.Safe(turn.ID), ui.Safe(turn.Session))
	return nil
}
