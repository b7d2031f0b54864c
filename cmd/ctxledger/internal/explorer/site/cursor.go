package site

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// A cursor names the last session of a page. The next page has the sessions after it in the order
// of the query sessions, so that new sessions move none to another page.
type cursor struct{ ended, tenant, session string }

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.ended + "\n" + c.tenant + "\n" + c.session))
}

var errCursor = &wrongRequest{errors.New("the cursor is not one of an earlier answer: take it from the Link header, or leave it out")}

// ended returns the place of a session in that order. Sessions without times come last.
func ended(at time.Time) string {
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	return at.UTC().Format(time.RFC3339Nano)
}

func parseCursor(text string) (c cursor, err error) {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(bytes), "\n", 3)
	if err != nil || len(parts) != 3 {
		return c, errCursor
	}
	if _, err := time.Parse(time.RFC3339Nano, parts[0]); err != nil {
		return c, errCursor
	}
	return cursor{parts[0], parts[1], parts[2]}, nil
}

// addTo adds the arguments for the sessions after the cursor.
func (c cursor) addTo(arguments map[string]string) {
	arguments["before"], arguments["before_tenant"], arguments["before_session"] = c.ended, c.tenant, c.session
}

// lastRow remembers the last row of an answer.
type lastRow struct {
	read.Rows
	values []any
}

// Values implements [read.Rows].
func (l *lastRow) Values() []any {
	l.values = l.Rows.Values()
	return l.values
}

// cursor returns the cursor after the last row.
func (l *lastRow) cursor() cursor {
	c := cursor{ended: ended(time.Time{})}
	for i, column := range l.Columns() {
		if i >= len(l.values) {
			break
		}
		switch v := l.values[i].(type) {
		case time.Time:
			if column.Name == "ended_at" {
				c.ended = ended(v)
			}
		case string:
			switch column.Name {
			case "tenant":
				c.tenant = v
			case "session_id":
				c.session = v
			}
		}
	}
	return c
}

// listSessions answers with a page of sessions, and names the next page in the header Link.
func listSessions(r *http.Request, l *ledger.Ledger) (body, error) {
	q, err := queries.Get("sessions")
	if err != nil {
		return body{}, err
	}
	given := r.URL.Query()
	arguments, err := arguments(r, q, "cursor")
	if err != nil {
		return body{}, err
	}
	if text := given.Get("cursor"); text != "" {
		c, err := parseCursor(text)
		if err != nil {
			return body{}, err
		}
		c.addTo(arguments)
	}
	b, rows, last, err := writeRows(r, l, q, arguments)
	if err != nil {
		return b, err
	}
	limit := arguments["limit"]
	if i := slices.IndexFunc(q.Parameters, func(p queries.Parameter) bool { return p.Name == "limit" }); limit == "" && i >= 0 {
		limit = q.Parameters[i].Default
	}
	if strconv.Itoa(rows) == limit {
		given.Set("cursor", last.cursor().String())
		b.link = "<" + (&url.URL{Path: r.URL.Path, RawQuery: given.Encode()}).String() + `>; rel="next"`
	}
	return b, nil
}
