package streamio

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestDigestForgetsWhatItSawBefore: the kept names of earlier messages do not change a digest.
func TestDigestForgetsWhatItSawBefore(t *testing.T) {
	t.Parallel()
	used := new(canonical)
	rapid.Check(t, func(t *rapid.T) {
		// Few names of equal length, so that sets of one size repeat.
		names := rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 0, 8, rapid.ID[int]).Draw(t, "names")
		header := make(map[string][]string)
		for _, n := range names {
			header[fmt.Sprintf("ce-name%d", n)] = []string{fmt.Sprint("value ", n)}
		}
		m := &Message{Subject: "ctx.a", Header: header, Data: []byte("data")}
		if got, want := used.append(nil, m), new(canonical).append(nil, m); string(got) != string(want) {
			t.Fatalf("the headers %v are written\n%q, and in a new room\n%q", header, got, want)
		}
		if len(used.orders) > keptOrders {
			t.Fatalf("%d orders are kept", len(used.orders))
		}
	})
}
