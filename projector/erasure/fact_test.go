package erasure

import (
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

func TestFactsOfErasuresStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	short, long := "s", strings.Repeat("s", schema.MaxIDBytes)
	var records []schema.ErasedRecord
	for i := range 2000 {
		id := short
		if i%2 > 0 && i < 400 {
			id = long
		}
		records = append(records, schema.ErasedRecord{
			Stream: projectortest.Incarnation.String(), Sequence: int64(i + 1), Leaf: strings.Repeat("f", 64),
			Source: "urn:" + id[:len(id)-4*min(1, len(id)/5)], SourceSequence: new(int64(1 << 52)), SessionID: id, RunID: id, TurnID: id,
		})
	}
	parts, err := factParts(records)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(slices.Concat(parts...), records, func(a, b schema.ErasedRecord) bool { return a.Sequence == b.Sequence }) || len(parts) > 40 {
		t.Errorf("%d facts, which do not have the records", len(parts))
	}
	for _, part := range parts {
		fact := &schema.ErasureApplied{Common: schema.Common{PolicyRefs: schema.Refs("policy:erasure")}, ErasureID: "erasure-1", ErasedSubject: long, Reason: strings.Repeat("r", 1000), Records: part}
		e, err := schema.NewEvent(fact, "e", Source, projectortest.Stored, schema.Correlation{})
		if err != nil {
			t.Fatal(err)
		}
		if _, found := schema.Validate(e); len(found) > 0 {
			t.Error(found)
		}
	}
}
