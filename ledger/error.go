package ledger

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
)

// permanentCodes are errors that a repeated insert meets again: the tables have another shape,
// or the user may not write them. Everything else is waited out, a wrong password and a quota
// among them.
var permanentCodes = []int32{
	chsql.CodeNoSuchColumn, chsql.CodeUnknownIdentifier, chsql.CodeTypeMismatch, chsql.CodeUnknownTable, chsql.CodeSyntaxError, chsql.CodeUnknownDatabase,
	chsql.CodeIncorrectData, chsql.CodeReadonly, chsql.CodeAccessDenied,
}

// Transient reports whether a retry of a failed insert or query may succeed: the server is
// down, slow, full or out of memory. A good event is never given up for such an error.
func Transient(err error) bool {
	if err == nil || errors.Is(err, column.ErrMismatch) {
		return false
	}
	var server *clickhouse.Exception
	if errors.As(err, &server) {
		return !slices.Contains(permanentCodes, server.Code)
	}
	return true
}

// Failure reports whether err comes from ClickHouse or the connection to it. The code is the
// error code of the server, or 0 if the server did not answer.
func Failure(err error) (code int32, ok bool) {
	var server *clickhouse.Exception
	if errors.As(err, &server) {
		return server.Code, true
	}
	var network *net.OpError
	return 0, errors.As(err, &network) || slices.ContainsFunc(connectionFailures, func(kind error) bool { return errors.Is(err, kind) })
}

// connectionFailures are errors of the client that no server has sent.
var connectionFailures = []error{
	ErrUnreachable, clickhouse.ErrAcquireConnTimeout, clickhouse.ErrAcquireConnNoAddress, clickhouse.ErrBatchInvalid,
	clickhouse.ErrBatchAlreadySent, driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded,
}

// NotMigrated reports whether err means missing tables or columns. A running migration may have
// made only some of them.
func NotMigrated(err error) bool {
	return NoTable(err) || hasCode(err, chsql.CodeUnknownIdentifier, chsql.CodeNoSuchColumn)
}

// NoTable reports whether err means a missing table or database.
func NoTable(err error) bool { return hasCode(err, chsql.CodeUnknownTable, chsql.CodeUnknownDatabase) }

// AccessDenied reports whether err means a missing right of the user.
func AccessDenied(err error) bool { return hasCode(err, chsql.CodeAccessDenied) }

func hasCode(err error, codes ...int32) bool {
	var server *clickhouse.Exception
	return errors.As(err, &server) && slices.Contains(codes, server.Code)
}
