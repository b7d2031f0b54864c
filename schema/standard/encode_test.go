package standard

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// TestRecordIsEncodedAsJSON compares the encoding of records with the JSON package, on facts of
// every shape.
func TestRecordIsEncodedAsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e, fact := anyFact(rt, rapid.SampledFrom(schema.Types()).Draw(rt, "type"))
		_, r, err := documentRecord(e, fact)
		if errors.Is(err, ErrNoShape) {
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		want, err := json.Marshal(map[string]any(r), json.Deterministic(true))
		if err != nil {
			rt.Fatal(err)
		}
		if got := mustEncode(rt, r); !bytes.Equal(got, want) {
			rt.Fatalf("%s\n%s", got, want)
		}
	})
}
