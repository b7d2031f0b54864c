package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/schema"
)

// largeDecisions returns decisions with a window that nothing overflows.
func largeDecisions(t *testing.T, session string, turns ...any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"runtime": "decider", "session": session, "run": "run-1", "agent": "a", "resource": "r", "task": "t", "attempt": "1", "program": "large",
		"model":    map[string]any{"name": "gpt-4o", "max_tokens": 100_000, "reserved_output": 10},
		"withheld": map[string]any{"value": "sk-test-0123456789", "policy_ref": "policy:no-credentials", "reason": "secret"},
		"turns":    turns,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func addStep(id string) map[string]any {
	return map[string]any{"do": "add", "id": id, "kind": "fixed", "role": "system", "layer": "system", "context_kind": "message", "text": "one", "tokens": 1}
}

// seals returns the sizes of the data of a stream's seals, by turn, and the seals.
func seals(t *testing.T, bus *bustest.Bus) (sizes map[string]int, list map[string]*schema.EnvelopeCreated) {
	t.Helper()
	sizes, list = make(map[string]int), make(map[string]*schema.EnvelopeCreated)
	for _, e := range bus.Events(t) {
		if e.EventType() != schema.TypeEnvelopeCreated {
			continue
		}
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		sizes[e.TurnID], list[e.TurnID] = len(e.Data), fact.(*schema.EnvelopeCreated)
	}
	return sizes, list
}

// TestSealsAtTheBorder seals turns whose seals take 44 to 72 KiB, and some that take the limit of an
// event, a byte less and a byte more. In each language the same seals have their lists, and no seal is
// refused.
func TestSealsAtTheBorder(t *testing.T) {
	t.Parallel()
	const items, least = 90, 400 // bytes of an id
	texts := []string{"x", "ü", "\\", "\"", "🧭", "\U0001F468\u200D", "<&>"}
	want := []int{0, 0, 0, 0, 0, 0, 0}
	for i, d := range []int{-2, -1, 0, 1, 2, 100, -100} {
		want[i] = schema.MaxEventBytes + d
	}
	for kib := 45; kib < 73; kib += 3 {
		want = append(want, kib<<10)
	}
	named := func(turn int) string { return fmt.Sprintf("turn-%02d", turn) }
	// turns returns a turn for each pad, whose items have long ids with characters that JSON may escape.
	turns := func(pads []int) (list []any) {
		for n, pad := range pads {
			var steps []any
			for i := range items {
				id := fmt.Sprintf("%02d/%02d ", n, i)
				share := least + pad/items
				if i == 0 {
					share += pad % items
				}
				special := strings.Repeat(texts[n%len(texts)], 5)
				steps = append(steps, addStep(id+special+strings.Repeat("x", share-len(id)-len(special))))
			}
			list = append(list, map[string]any{"id": named(n), "steps": steps})
		}
		return list
	}
	pads := make([]int, len(want))
	bus := bustest.Start(t)
	decide(t, bus, largeDecisions(t, "d-3", turns(pads)...))
	sizes, _ := seals(t, bus)
	for n := range pads {
		pads[n] = want[n] - sizes[named(n)]
	}
	text := largeDecisions(t, "d-3", turns(pads)...)
	bus = bustest.Start(t)
	decide(t, bus, text)
	sizes, list := seals(t, bus)
	for n, size := range want {
		seal, whole := list[named(n)], size <= schema.MaxEventBytes
		if seal == nil || (len(seal.ItemRefs) == items) != whole || whole && sizes[named(n)] != size || (seal.Metadata["refs_left_out"] == float64(items)) == whole {
			t.Errorf("%s of %d bytes has %d, %+v", named(n), size, sizes[named(n)], seal)
		}
	}
	checkDecisions(t, text, 1+len(want)*(items+1))
}

// TestPartsAtTheBorder records calls whose surfaces, selections, assemblies, segments and injections
// take a few bytes less or more than one, two or three parts.
func TestPartsAtTheBorder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(28, 2))
	letters := []string{"a", "b", "ü", "\"", "\\", "🧭", "/", "<"}
	var ids []string
	for i := range 600 {
		var b strings.Builder
		fmt.Fprintf(&b, "%d-", i)
		for range r.IntN(160) {
			b.WriteString(letters[r.IntN(len(letters))])
		}
		ids = append(ids, b.String())
	}
	fillers := make(map[int]string) // by the length
	for n := 3; n < 300; n++ {
		fillers[n] = strings.Repeat("f", n)
	}
	all := append(slices.Clone(ids), slices.Sorted(maps.Values(fillers))...)
	var list []any
	for _, id := range all {
		list = append(list, addStep(id))
	}
	turns := []any{map[string]any{"id": "turn-0", "steps": list}}
	for _, one := range []struct { // lists of an event
		limit int
		size  func(id string) int // of a candidate
	}{
		{facts.MaxPartBytes, facts.TextBytes},
		{facts.MaxPartBytes, func(id string) int { return 128 + 2*facts.TextBytes(id) }},
		{facts.MaxPartBytes, func(id string) int {
			return 192 + facts.TextBytes("block:call-000:000") + 2*facts.TextBytes(id) + facts.TextBytes("system")*2 + 3*facts.TextBytes("") + facts.TextBytes(keyedDigest)
		}},
		{facts.MaxPartBytes / 2, facts.TextBytes},
	} {
		for range 14 {
			limit := one.limit*(1+r.IntN(2)) + r.IntN(9) - 4
			candidates, sum := []string{}, 0
			for _, i := range r.Perm(len(ids)) {
				if sum += one.size(ids[i]); sum > limit-one.size(fillers[20]) {
					sum -= one.size(ids[i])
					break
				}
				candidates = append(candidates, ids[i])
			}
			best := slices.MinFunc(slices.Collect(maps.Keys(fillers)), func(a, b int) int {
				return abs(limit-sum-one.size(fillers[a])) - abs(limit-sum-one.size(fillers[b]))
			})
			candidates = append(candidates, fillers[best])
			turn := fmt.Sprintf("turn-%02d", len(turns))
			turns = append(turns, map[string]any{"id": turn, "steps": []any{map[string]any{
				"do": "call", "id": fmt.Sprintf("call-%03d", len(turns)), "candidates": candidates, "query": "q", "intent": "answer",
				"pressure_policy": map[string]any{"name": "pressure_ladder"}, "point": "message_history", "usage": map[string]any{"output_tokens": 1},
			}}})
		}
	}
	checkDecisions(t, largeDecisions(t, "d-4", turns...), len(all)+len(turns)*6)
}

const keyedDigest = "hmac-sha256:k0123456789:0123456789012345678901234567890123456789012345678901234567890123"

func abs(n int) int { return max(n, -n) }
