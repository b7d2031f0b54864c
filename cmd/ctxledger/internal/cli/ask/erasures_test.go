package ask_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/schema"
)

// publishErasures publishes, for each place, the facts of an erasure with two parts. They name messages that no
// stream has, so nothing is erased.
func (r *shardRig) publishErasures(places ...shardtest.Place) {
	r.T.Helper()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, p := range places {
		for part := range 2 {
			fact := &schema.ErasureApplied{
				Common:    schema.Common{PolicyRefs: schema.Refs("policy:gdpr-17")},
				ErasureID: fmt.Sprint("erasure-", i), ErasedSubject: "session:gone", Reason: fmt.Sprint("request ", i),
				Records: []schema.ErasedRecord{{
					Stream: "CTX_0", Sequence: int64(1_000_000 + part), Leaf: strings.Repeat("ab", 32), SessionID: fmt.Sprint("gone-", i),
				}},
			}
			of := schema.Correlation{Tenant: "acme", SessionID: p.Session}
			event, err := schema.NewEvent(fact, fmt.Sprintf("erasure-%d-%d", i, part), "urn:ctxledger:erase", began.Add(time.Duration(i)*time.Hour), of)
			if err != nil {
				r.T.Fatal(err)
			}
			m := event.Binary()
			if _, err := r.JS.PublishMsg(r.T.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
				r.T.Fatal(err)
			}
		}
	}
}

// sameErasures compares the question erasures with one machine, after publishErasures.
func (r *shardRig) sameErasures() {
	r.T.Helper()
	r.SameOutput("request 0", "query", "erasures")
	r.SameOutput(`"records":2`, "query", "erasures", "-o", "json", "--param", "session_id=gone-1")
	r.SameOutput("request 1", "query", "erasures", "-o", "csv", "--param", "limit=1")
}
