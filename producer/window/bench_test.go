package window_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
)

func manyItems(n int) []window.Item {
	items := make([]window.Item, n)
	for i := range items {
		it := window.Item{ID: fmt.Sprintf("it_%04d", i), Tokens: 100 + i, Kind: window.KindMessage, Role: window.RoleAssistant}
		switch i % 5 {
		case 0:
			it.Role = window.RoleUser
		case 1:
			it.Kind, it.Priority = window.KindRetrieved, i%3
		case 2:
			it.Kind, it.CallIDs = window.KindToolCall, []string{fmt.Sprint("c", i)}
		case 3:
			it.Kind, it.CallIDs = window.KindToolResult, []string{fmt.Sprint("c", i-1)}
		}
		items[i] = it
	}
	return items
}

// BenchmarkFit plans 200 candidates: without pressure, and through all steps.
func BenchmarkFit(b *testing.B) {
	items := manyItems(200)
	for name, limit := range map[string]int{"fits": 1 << 20, "pressed": 2000} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			policy := window.DefaultPolicy()
			policy.CompactStubTokens = 10
			for b.Loop() {
				_, _ = window.Fit(items, window.Budget{MaxTokens: limit}, policy, summary)
			}
		})
	}
}

func BenchmarkPlanElision(b *testing.B) {
	history := window.History{Items: manyItems(200), Turn: 1}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = window.PlanElision(history, window.BeforeLastUser(), window.Style{Level: window.Simple, StubTokens: 10})
	}
}

// BenchmarkCounter counts 4 KiB of text, from the cache and encoded.
func BenchmarkCounter(b *testing.B) {
	text := strings.Repeat("func main() { fmt.Println(\"The quick brown fox\") }\n", 80)
	for name, entries := range map[string]int{"cached": 0, "encoded": -1} {
		b.Run(name, func(b *testing.B) {
			counter := window.NewCounter(window.CounterConfig{CacheEntries: entries})
			counter.Count("gpt-5", text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				counter.Count("gpt-5", text)
			}
		})
	}
}
