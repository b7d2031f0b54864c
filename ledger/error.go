package ledger

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// ClickHouse's error codes that a caller decides by. They are the server's
// own numbers.
const (
	codeNoSuchColumn      = 16
	codeUnknownIdentifier = 47
	codeTypeMismatch      = 53
	codeUnknownTable      = 60
	codeSyntaxError       = 62
	codeUnknownDatabase   = 81
	codeIncorrectData     = 117
	codeRowsLimit         = 158
	codeTimeoutExceeded   = 159
	codeReadonly          = 164
	codeMemoryLimit       = 241
	codeTooManyParts      = 252
	codeQueryCanceled     = 394
	codeResultLimit       = 396
)

// permanentCodes are errors that the same insert would meet again: the tables
// are not what this program expects, or not its to write. Everything else is
// waited out, a wrong password and a quota among them.
var permanentCodes = []int32{
	codeNoSuchColumn, codeUnknownIdentifier, codeTypeMismatch, codeUnknownTable, codeSyntaxError, codeUnknownDatabase,
	codeIncorrectData, codeReadonly, codeAccessDenied,
}

// ErrMismatch means that the rows do not fit the table: the database is not in
// the state that this program expects. Run migrate; waiting does not help.
var ErrMismatch = errors.New("the rows do not fit the table")

// Transient reports whether an insert or a query that failed with err may
// succeed when it is tried again: the server is down, slow, full or out of
// memory. A good event is never given up for such an error.
func Transient(err error) bool {
	if err == nil || errors.Is(err, ErrMismatch) {
		return false
	}
	var server *clickhouse.Exception
	if errors.As(err, &server) {
		return !slices.Contains(permanentCodes, server.Code)
	}
	return true
}

// Failure reports whether err came of ClickHouse or of the connection to it,
// and returns the server's error code, 0 where the server did not answer.
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

// NotMigrated reports whether err says that tables are missing, or columns of them:
// a migration that is under way has made the one and not yet the other.
func NotMigrated(err error) bool {
	return gone(err) || hasCode(err, codeUnknownIdentifier, codeNoSuchColumn)
}

// gone reports whether err says that the table or its database is not there.
func gone(err error) bool { return hasCode(err, codeUnknownTable, codeUnknownDatabase) }

// AccessDenied reports whether err says that the user may not do it.
func AccessDenied(err error) bool { return hasCode(err, codeAccessDenied) }

func hasCode(err error, codes ...int32) bool {
	var server *clickhouse.Exception
	return errors.As(err, &server) && slices.Contains(codes, server.Code)
}
