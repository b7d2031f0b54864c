package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// The errors of queries. Each is wrapped by an error whose text has the next step.
var (
	// ErrReadOnly: the statement would change something. Queries only read.
	ErrReadOnly = errors.New("queries only read")
	// ErrLimit: the query ran out of time, rows or memory. Narrow it, or raise
	// the limit. The error is a [*LimitError].
	ErrLimit = errors.New("the query reached a limit")
	// ErrNotMigrated: a table is not there. Run migrate.
	ErrNotMigrated = errors.New("the ledger has no such table")
	// ErrStatement: the statement or one of its parameters is wrong.
	ErrStatement = errors.New("the statement is wrong")
	// ErrNoColumn: a column is not there. The error also wraps ErrStatement.
	ErrNoColumn error = noColumn{}
)

type noColumn struct{}

func (noColumn) Error() string { return ErrStatement.Error() }
func (noColumn) Unwrap() error { return ErrStatement }

// LimitError is the error of a query that reached a limit. The error wraps [ErrLimit].
type LimitError struct {
	Limit string // time, rows or memory
	Value string // for people; "" when the server set it
}

func (e *LimitError) Error() string {
	advice := "ask for less (a tenant, a session, fewer days) or raise the limit"
	if e.Value == "" {
		return fmt.Sprintf("the query reached the server's limit of %s: %s", e.Limit, advice)
	}
	return fmt.Sprintf("the query needs more %s than the limit of %s: %s", e.Limit, e.Value, advice)
}

func (e *LimitError) Unwrap() error { return ErrLimit }

// queryError explains err, an error of the server or the network about a query of ctx.
func queryError(ctx context.Context, err error, limits Limits) error {
	if isLate(ctx, err) {
		return context.DeadlineExceeded
	}
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var server *clickhouse.Exception
	if errors.As(err, &server) {
		return serverError(server, limits)
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ledger.ErrUnreachable, err)
	}
	if errors.Is(err, clickhouse.ErrFormatNativeUnsupported) {
		return fmt.Errorf("%w: a format of the server needs its HTTP address, http://host:8123", ErrStatement)
	}
	return fmt.Errorf("query: %w", err)
}

// explainer returns queryError for the errors that come while the answer is read.
func explainer(ctx context.Context, limits Limits) func(error) error {
	return func(err error) error { return queryError(ctx, err, limits) }
}

// isLate reports whether err is the end of ctx. The driver gives a connection the deadline of its context, and
// the connection may meet that deadline first.
func isLate(ctx context.Context, err error) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline) && errors.Is(err, os.ErrDeadlineExceeded)
}

func serverError(e *clickhouse.Exception, limits Limits) error {
	said := firstSentence(e.Message)
	switch e.Code {
	case chsql.CodeTimeoutExceeded:
		return &LimitError{"time", nonZero(limits.Time > 0, limits.Time)}
	case chsql.CodeResultLimit, chsql.CodeRowsLimit:
		return &LimitError{"rows", nonZero(limits.Rows > 0, limits.Rows)}
	case chsql.CodeMemoryLimit:
		return &LimitError{"memory", nonZero(limits.Memory > 0, fmt.Sprintf("%d MiB", limits.Memory>>20))}
	case chsql.CodeConstraint:
		return fmt.Errorf("%w: this user's own bounds are tighter than the limits asked for; ask for less: %s", ErrLimit, said)
	case chsql.CodeUnknownTable, chsql.CodeUnknownDatabase:
		return fmt.Errorf("%w: %s; `ctxledger query views` lists the views; if it should be there, run `ctxledger migrate`", ErrNotMigrated, said)
	case chsql.CodeUnknownIdentifier, chsql.CodeNoSuchColumn:
		return fmt.Errorf("%w: %s", ErrNoColumn, said)
	case chsql.CodeUnknownParameter, chsql.CodeBadParameter:
		return fmt.Errorf("%w: a parameter has no value or one of another type; give it with --param name=value: %s", ErrStatement, said)
	case chsql.CodeReadonly, chsql.CodeProhibited:
		return fmt.Errorf("%w: use SELECT, SHOW, DESCRIBE or EXPLAIN, without SETTINGS: %s", ErrReadOnly, said)
	case chsql.CodeAccessDenied:
		if strings.Contains(e.Message, "SELECT(") {
			return fmt.Errorf("%w: this user may not read that: %s", ErrStatement, said)
		}
		return fmt.Errorf("%w: use SELECT, SHOW, DESCRIBE or EXPLAIN: %s", ErrReadOnly, said)
	}
	return fmt.Errorf("%w: %s", ErrStatement, said)
}

func nonZero(known bool, value any) string {
	if !known {
		return ""
	}
	return fmt.Sprint(value)
}

// noise is text of a server message without use for a person: the whole expression, the
// version, the name of the error.
var noise = regexp.MustCompile(`(?s)(:? ?[Ii]n scope .*|\. Expected one of: .*|: While executing .*|\. \([A-Z_]+\).*| ?\(version .*)$`)

func firstSentence(message string) string {
	const most = 300
	message = strings.TrimPrefix(strings.TrimSpace(message), "DB::Exception: ")
	message = strings.TrimRight(noise.ReplaceAllString(message, ""), ". ")
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	return message
}
