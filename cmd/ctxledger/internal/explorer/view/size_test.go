package view

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// TestTwoThousandCalls: the page of a session of 2,000 calls, with a window of 500 blocks, takes less
// than 1.5 MB of the network.
func TestTwoThousandCalls(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 21, 7, 20, 0, 0, time.UTC)
	a := river.Answers{Session: answer.Row{"session_id": "s", "started_at": at, "ended_at": at.Add(30 * time.Hour)}}
	for i := range 2000 {
		id, when := fmt.Sprintf("msg_0123456789abcdefghi%04d", i), at.Add(time.Duration(i)*time.Minute)
		size := int64(10_000 + i%300*500)
		a.Calls = append(a.Calls, answer.Row{"thread_id": "t", "turn_id": "01a210d2-0545-70ab-9667-e0f4a5687654", "call_id": id, "event_time": when, "model": "m", "cause": "append",
			"window_tokens": size + 5000, "cache_read": size, "cache_written": int64(4000), "lost_tokens": int64(0), "max_tokens": int64(200_000)})
		for j, layer := range []string{"system", "user", "assistant", "reasoning", "tool_calls", "tool_results", "summary"} {
			a.Layers = append(a.Layers, answer.Row{"turn_id": "01a210d2-0545-70ab-9667-e0f4a5687654", "call_id": id, "event_time": when, "layer": layer, "tokens": size / int64(7+j)})
		}
	}
	var w windowview.Window
	for i := range 500 {
		w.Blocks = append(w.Blocks, windowview.Block{Position: int64(i), Layer: []string{"user", "tool_results"}[i%2], Title: fmt.Sprint("contents of file ", i), Tokens: new(int64(100)), Items: []string{fmt.Sprint("item-", i)}})
	}
	href := func(c river.Call) string { return "/c/" + c.Call + "?session=s&turn=" + c.Turn + "&tenant=default" }
	began := time.Now()
	content := SessionPage{Session: Of(a, "", Range{}, href)}
	call := CallOf(content.River.All()[content.Selected-1], 2000, w, false, func(id string) string { return "/i/" + id })
	content.Call = &call
	var b strings.Builder
	if err := (Page{Title: "s", Nav: "sessions", Content: content}).Write(&b, "session"); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	if _, err := gz.Write([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d of them transferred, drawn in %s", b.Len(), packed.Len(), took)
	if b.Len() > 2_500_000 || packed.Len() > 1_500_000 {
		t.Errorf("the page has %d bytes, %d of them transferred", b.Len(), packed.Len())
	}
}
