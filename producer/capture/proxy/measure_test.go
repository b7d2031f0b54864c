package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// answering is a provider that reads a request and streams a short answer.
func answering(t testing.TB) *httptest.Server {
	const stream = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_%d\",\"usage\":{\"input_tokens\":1}}}\n\n"
	var n int
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		_, _ = io.Copy(io.Discard, in.Body)
		mu.Lock()
		n++
		id := n
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, stream, id)
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "data: {\"type\":\"message_stop\"}\n\n")
	}))
	t.Cleanup(server.Close)
	return server
}

func large(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":%q}`, fmt.Sprintf("message %d ", i)+strings.Repeat("some words of a text ", 80))
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func measured(t *testing.T) {
	t.Helper()
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("set CTXLEDGER_MEASURE to measure")
	}
}

// TestLatency compares the added latency of the gateway with that of the standard library's
// reverse proxy: requests of 200 KB at 200/s, in turns.
func TestLatency(t *testing.T) {
	measured(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the commands do
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4 * runtime.NumCPU()))
	provider, r := answering(t), newRig(t)
	target, _ := url.Parse(provider.URL)
	reverse := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, FlushInterval: -1})
	defer reverse.Close()
	ways := []string{provider.URL, reverse.URL, gateway(t, provider.URL, r.Recorder) + "/model"}
	body := large(200 << 10)
	first, whole := make([][]time.Duration, 3), make([][]time.Duration, 3)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var mu sync.Mutex
	const turns, perTurn = 7, 200
	for range turns {
		for way, base := range ways {
			var all sync.WaitGroup
			tick := time.NewTicker(5 * time.Millisecond)
			for range perTurn {
				<-tick.C
				all.Go(func() {
					start := time.Now()
					req, _ := http.NewRequest(http.MethodPost, base+"/v1/messages", bytes.NewReader(body))
					req.Header.Set("X-Claude-Code-Session-Id", "s1")
					response, err := client.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					one := make([]byte, 1)
					_, _ = io.ReadFull(response.Body, one)
					begun := time.Since(start)
					_, _ = io.Copy(io.Discard, response.Body)
					response.Body.Close()
					mu.Lock()
					defer mu.Unlock()
					first[way], whole[way] = append(first[way], begun), append(whole[way], time.Since(start))
				})
			}
			all.Wait()
			tick.Stop()
			_ = r.Flush(t.Context())
		}
	}
	at := func(list []time.Duration, p float64) float64 {
		slices.Sort(list)
		return float64(list[int(float64(len(list)-1)*p)].Microseconds()) / 1000
	}
	for name, lists := range map[string][][]time.Duration{"first byte": first, "whole": whole} {
		for _, c := range []struct{ p, plus float64 }{{0.5, 1}, {0.99, 5}} {
			direct, std, ours := at(lists[0], c.p), at(lists[1], c.p), at(lists[2], c.p)
			t.Logf("%s p%.0f: direct %.2f ms, reverse proxy %.2f ms, gateway %.2f ms; added %.2f ms of %.2f ms allowed", name, 100*c.p, direct, std, ours, ours-direct, 2*(std-direct)+c.plus)
			if ours-direct > 2*max(std-direct, 0)+c.plus {
				t.Errorf("%s p%.0f is over the bar", name, 100*c.p)
			}
		}
	}
	t.Logf("%+v", r.Counts())
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
	body := large(200 << 10)
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
	response, err := client.Post(base, "application/json", bytes.NewReader(large(50<<20)))
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
