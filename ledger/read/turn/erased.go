package turn

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/schema"
)

// erasureRow is an erasure. Only its data name the erased records. Rows are read if their data
// hold the session's id, or a character that JSON escapes.
type erasureRow struct {
	Fact
	Data string `ch:"data"`
}

// expiry is an item of the session that an erasure took.
type expiry struct {
	Fact
	item, reason, policy string
}

// erased are the items of a session that erasures took.
func erased(rows []erasureRow, session string) (list []expiry, err error) {
	for _, row := range rows {
		var erasure schema.ErasureApplied
		if err := json.Unmarshal([]byte(row.Data), &erasure); err != nil {
			return nil, fmt.Errorf("read the erasure %s:%d: %w", row.Stream, row.Sequence, err)
		}
		var policies []string
		for _, p := range erasure.PolicyRefs {
			policies = append(policies, string(p))
		}
		for _, r := range erasure.Records {
			if r.SessionID == session && r.ItemID != "" {
				list = append(list, expiry{row.Fact, r.ItemID, erasure.Reason, strings.Join(policies, ", ")})
			}
		}
	}
	return list, nil
}
