package sdk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// TestNotices: an SDK counts and logs the notice that one of its events was quarantined, once. A
// notice of another source is not its own.
func TestNotices(t *testing.T) {
	t.Parallel()
	bus, server := start(t)
	bus.CreateStream(t, jetstream.StreamConfig{Name: schema.NoticeStream, Subjects: []string{"ctxnotice.v1.>"}})
	for _, runtime := range []string{"ts", "py", "other"} {
		source := "urn:ctxledger:runtime:" + runtime + ":fixed"
		data, err := json.Marshal(schema.Notice{
			Outcome: schema.OutcomeQuarantined, Stream: "CTX", Sequence: 7, Source: source, ID: "id-" + runtime, Type: "t", Code: schema.CodeIDConflict, Pointer: "/id", Fix: "give it another id",
		})
		if err == nil {
			_, err = bus.JS.Publish(t.Context(), schema.NoticeSubject("default", source), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	each(t, func(t *testing.T, l language) {
		out := l.run(t, "", "notices", server.URL, "s")
		said := decode[struct {
			Quarantined, Again int
			Lines              []string
			ID                 string
		}](t, out)
		want := "ctxledger quarantined t " + said.ID + ": id_conflict at /id; give it another id"
		if said.Quarantined != 1 || said.Again != 0 || said.ID != map[string]string{"TypeScript": "id-ts", "Python": "id-py"}[l.name] || strings.Join(said.Lines, "\n") != want {
			t.Errorf("%s", out)
		}
	})
}
