package privacy

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// TextNaming is a fact of an item that names a text by [schema.TextRef].
type TextNaming struct {
	ledger.Position
	Tenant  string
	Ref     schema.Ref
	Expired bool // the content of the fact has left the tables
}

// TextNamings calls visit for the facts of the tables that name texts. A quarantined message counts for
// each text that it names, because it can be replayed. RecordedAt is set for quarantined messages only.
func (l Tables) TextNamings(ctx context.Context, visit func(TextNaming)) error {
	for row := range l.sql.Rows(ctx, "text_namings", chsql.Params{"prefix": chsql.Text(string(schema.TextRef("")))}) {
		var n TextNaming
		var ref string
		if err := row.Scan(&n.Incarnation, &n.StreamSeq, &n.Tenant, &ref, &n.Expired); err != nil {
			return fmt.Errorf("read which texts facts name: %w", err)
		}
		n.Ref = schema.Ref(ref)
		visit(n)
	}
	return read.Of(l.ledger).Refusals(ctx, read.RefusalFilter{}, func(r ledger.Refusal) error {
		for _, ref := range TextRefsIn(r.Data) {
			visit(TextNaming{Position: r.Position(), Tenant: r.Tenant, Ref: ref})
		}
		return nil
	})
}

// TextRefsIn returns the references by [schema.TextRef] in the data of an event.
func TextRefsIn(data []byte) (refs []schema.Ref) {
	prefix := []byte(schema.TextRef(""))
	for {
		at := bytes.Index(data, prefix)
		if at < 0 {
			return refs
		}
		data = data[at:]
		end := bytes.IndexByte(data, '"')
		if end < 0 {
			end = len(data)
		}
		refs = append(refs, schema.Ref(data[:end]))
		data = data[end:]
	}
}
