package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/redact"
)

// BenchmarkMaskJSON masks an event of about 1 KiB without hits, the most frequent case,
// under guards of different sizes.
func BenchmarkMaskJSON(b *testing.B) {
	event := []byte(`{"item_id":"it_0123","title":"producer/window/fit.go","metadata":{"path":"C:\\x","note":"` +
		strings.Repeat("The Quick brown fox jumps over a lazy dog. ", 20) + `"},"tokens":123}`)
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			var values []redact.Value
			for i := range n {
				values = append(values, redact.Withhold(fmt.Sprintf("sk-proj-%08d-%x", i, i*i), "pol", "secret"))
			}
			g, err := redact.New(values...)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				if _, hits, err := g.MaskJSON(event); hits != nil || err != nil {
					b.Fatal(hits, err)
				}
			}
		})
	}
}
