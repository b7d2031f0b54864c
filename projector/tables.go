package projector

import (
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/ledger/translog"
)

// tables is a ledger with all methods on its tables that the protocol needs.
type tables struct {
	*ledger.Ledger
	translog.Logs
	privacy.Tables
	shadow.Live
}

func tablesOf(l *ledger.Ledger) tables {
	return tables{l, translog.Of(l), privacy.Of(l), shadow.Of(l)}
}
