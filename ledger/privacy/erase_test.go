package privacy

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/google/uuid"
)

// TestALeafMayEndInZeros: one leaf in 256 ends in a zero byte. ClickHouse drops trailing zero bytes
// when it converts a FixedString to text. The id of the subject has a backslash and a line break.
func TestALeafMayEndInZeros(t *testing.T) {
	t.Parallel()
	l := ledgertest.Open(t)
	log := uuid.New()
	leaf := strings.Repeat("ab", 30) + "0000"
	for _, sql := range []string{
		`INSERT INTO events (incarnation, stream_seq, recorded_at, event_type, tenant, session_id, resource_id, data) VALUES
			('LOG', 2, '2026-01-02 03:04:05', 'context.erasure.applied', 'acme', 's', '', '{"erasure_id":"x","records":[{"stream":"CTX","sequence":1,"leaf":"LEAF","session_id":"s"}]}'),
			('LOG', 3, '2026-01-02 03:04:05', 'context.item.added', 'acme', 's', 'DOMAIN\\user\n', '{}')`,
		`INSERT INTO log_hashes (incarnation, log_index, stream_seq, recorded_at, hash) SELECT 'LOG', n - 1, n, '2026-01-02 03:04:05', unhex('LEAF') FROM (SELECT arrayJoin([1, 3]) AS n)`,
	} {
		if err := ledgertest.DB(l).Conn.Exec(t.Context(), strings.NewReplacer("LOG", log.String(), "LEAF", leaf).Replace(sql)); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := read.Of(l).ScopeErased(t.Context(), read.Scope{Tenant: "acme", Session: "s"})
	if err != nil || len(gone) != 1 || !strings.HasSuffix(string(gone[0].Leaf[:]), "\xab\x00\x00") {
		t.Errorf("erased: %+v, %v", gone, err)
	}
	n := 0
	err = Of(l).Erasable(t.Context(), ledger.Subject{Kind: "resource", ID: "DOMAIN\\user\n"}, "", func(e Erasable) {
		if n++; !strings.EqualFold(e.Leaf, leaf) {
			t.Errorf("the leaf of %d is %q", e.StreamSeq, e.Leaf)
		}
	})
	if err != nil || n != 1 {
		t.Errorf("%d to erase, %v", n, err)
	}
}
