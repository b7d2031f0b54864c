package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ctxledger/ctxledger/producer/producertest/latency"
)

func measured(t *testing.T) {
	t.Helper()
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("set CTXLEDGER_MEASURE to measure")
	}
}

// as sets the runtime as the commands do, until the returned function is called.
func as() (before func()) {
	percent, processors := debug.SetGCPercent(400), runtime.GOMAXPROCS(4*runtime.NumCPU())
	return func() {
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(processors)
	}
}

// bar is 200 calls a second.
var bar = latency.Plan{Turns: 7, PerTurn: 200, Every: 5 * time.Millisecond}

// TestLatency compares the added latency of the gateway with that of the standard library's
// reverse proxy: requests of 200 KB at 200/s, in turns.
func TestLatency(t *testing.T) {
	measured(t)
	defer as()()
	provider, r := latency.Provider(t), newRig(t)
	client, body := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, latency.Request(200<<10)
	times := bar.Measure(
		latency.Way{Ask: latency.Post(client, provider.URL, body)},
		latency.Way{Ask: latency.Post(client, latency.Reverse(t, provider.URL).URL, body)},
		latency.Way{Ask: latency.Post(client, gateway(t, provider.URL, r.Recorder)+"/model", body), Settle: func() { _ = r.Flush(t.Context()) }})
	latency.Check(t, times[0], times[1], times[2])
	t.Logf("%+v", r.Counts())
}

// connections returns open WebSockets. One call at a time uses each of them.
func connections(t *testing.T, base string, mode websocket.CompressionMode) chan *websocket.Conn {
	const most = 32
	open := make(chan *websocket.Conn, most)
	for range most {
		conn, _, err := websocket.Dial(t.Context(), base+"/v1/responses", &websocket.DialOptions{CompressionMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.CloseNow() })
		open <- conn
	}
	return open
}

// TestLatencyOfWebSockets does the same with messages of WebSockets: 200 KB plain, and 20 KB compressed.
func TestLatencyOfWebSockets(t *testing.T) {
	measured(t)
	defer as()()
	var answers atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		conn, err := websocket.Accept(w, in, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(-1)
		for {
			if _, _, err := conn.Read(in.Context()); err != nil {
				return
			}
			for _, event := range []string{"created", "completed"} {
				text := fmt.Sprintf(`{"type":"response.%s","response":{"id":"resp_%d","status":"%[1]s","output":[],"usage":{"input_tokens":1}}}`, event, answers.Add(1))
				if err := conn.Write(in.Context(), websocket.MessageText, []byte(text)); err != nil {
					return
				}
			}
		}
	}))
	defer provider.Close()
	for name, test := range map[string]struct {
		size int
		mode websocket.CompressionMode
	}{"plain": {200 << 10, websocket.CompressionDisabled}, "compressed": {20 << 10, websocket.CompressionContextTakeover}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			message := []byte(`{"type":"response.create","model":"m",` + latency.Messages("input", test.size) + `}`)
			way := func(base string, settle func()) latency.Way {
				open := connections(t, base, test.mode)
				return latency.Way{Settle: settle, Ask: func(begun func()) error {
					conn := <-open
					defer func() { open <- conn }()
					if err := conn.Write(t.Context(), websocket.MessageText, message); err != nil {
						return err
					}
					if _, _, err := conn.Read(t.Context()); err != nil {
						return err
					}
					begun()
					_, _, err := conn.Read(t.Context())
					return err
				}}
			}
			times := bar.Measure(way(provider.URL, nil), way(latency.Reverse(t, provider.URL).URL, nil),
				way(gateway(t, provider.URL, r.Recorder)+"/model", func() { _ = r.Flush(t.Context()) }))
			latency.Check(t, times[0], times[1], times[2])
			if n := r.Counts(); n.Exchanges != int64(bar.Turns*bar.PerTurn) || n.Unread+n.Dropped > 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestManyStreams measures the memory of 500 streams at once, with requests of 200 KB, and passes
// a request of 50 MB.
func TestManyStreams(t *testing.T) {
	measured(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	hold := make(chan struct{})
	var begun sync.WaitGroup
	const streams = 500
	begun.Add(streams)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		n, _ := io.Copy(io.Discard, in.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_%p\"}}\n\n", in)
		w.(http.Flusher).Flush()
		if n > 10<<20 {
			return
		}
		begun.Done()
		<-hold
	}))
	defer provider.Close()
	r := newRig(t)
	base := gateway(t, provider.URL, r.Recorder) + "/model/v1/messages"
	body := latency.Request(200 << 10)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			response, err := client.Post(base, "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		})
	}
	begun.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, _ := os.ReadFile("/proc/self/status")
	rss := ""
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			rss += strings.Join(strings.Fields(line), " ") + " "
		}
	}
	t.Logf("500 streams: heap %d MB, from the system %d MB, %s(client, provider and proxy in one process)", m.HeapInuse>>20, m.Sys>>20, rss)
	close(hold)
	all.Wait()
	response, err := client.Post(base, "application/json", bytes.NewReader(latency.Request(50<<20)))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Counts(); got.Exchanges != streams+1 {
		t.Errorf("%+v", got)
	}
}
