package demo_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/queries"
)

// tokensBindTheTenant serves the demo's ledger by TLS with tokens. A token of another tenant than the
// demo's finds nothing of it by any page, path or query, publishes to its own tenant only, and ends
// with its line in the file.
func tokensBindTheTenant(t *testing.T, data, session string) {
	t.Helper()
	dir := t.TempDir()
	file, certificate, key := filepath.Join(dir, "tokens"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	client := clitest.Certify(t, certificate, key)
	tokens := make(map[string]string)
	for name, tenant := range map[string]string{"own": "default", "other": "acme"} {
		stdout, stderr, code := clitest.Run(t, "token", "create", "--file", file, "--name", name, "--tenant", tenant, "--role", "read", "--role", "publish", "--role", "evidence")
		if code != cli.ExitDone {
			t.Fatal(stderr)
		}
		tokens[name] = strings.TrimSpace(stdout)
	}
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- clitest.RunContext(ctx, []string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--tokens", file, "--tls-cert", certificate, "--tls-key", key}, nil, w, io.Discard)
		w.Close()
	}()
	defer func() { stop(); <-done }()
	printed := make([]byte, 200)
	n, _ := io.ReadAtLeast(r, printed, 60)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	base := regexp.MustCompile(`https://[0-9.:]+`).FindString(string(printed[:n]))
	ask := func(name, path, body string) (int, string) {
		t.Helper()
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/cloudevents+json")
		if path == gateway.LogsPath || path == "/evidence/packs" {
			request.Header.Set("Content-Type", "application/json")
		}
		request.SetBasicAuth("anyone", tokens[name])
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}

	values := map[string]string{"session_id": session, "turn_id": "turn-3", "call_id": "call-17", "item_id": "helper-1/tool-1:result"}
	facts := regexp.MustCompile(`demo-|"(turn|call|helper)-|tool-1|scripted`)
	found := 0
	for _, q := range queries.All() {
		given := url.Values{}
		for _, p := range q.Parameters {
			if p.Required {
				given.Set(p.Name, values[p.Name])
			}
		}
		path := "/queries/" + q.Name + "?" + given.Encode()
		if status, text := ask("other", "/api/v1"+path, ""); status != http.StatusOK || facts.MatchString(text) {
			t.Errorf("the other tenant's answer to %s is %d %.300s", path, status, text)
		}
		if found >= 10 {
			continue // the first ones show that the expression finds facts, and that pages refuse
		}
		given.Set("tenant", "default")
		page := "/q/" + q.Name + "?run=1&" + given.Encode()
		if status, text := ask("other", page, ""); status != http.StatusForbidden || facts.MatchString(text) {
			t.Errorf("%s is %d %.300s for the other tenant", page, status, text)
		}
		if _, text := ask("own", "/api/v1"+path, ""); facts.MatchString(text) {
			found++
		}
	}
	if found < 10 {
		t.Errorf("the own token finds facts by %d queries", found)
	}
	for body, want := range map[string]int{`{"session":"` + session + `"}`: 404, `{"session":"` + session + `","tenant":"default"}`: 404} {
		if status, text := ask("other", "/evidence/packs", body); status != want {
			t.Errorf("a pack of another tenant: %d %.300s", status, text)
		}
	}
	// Pages of two tenants follow the session at the same time. What they share is of one tenant.
	stream := func(name, query string) (int, string) {
		following, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(following, http.MethodGet, base+"/events/s/"+session+"?"+query, nil)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		request.SetBasicAuth("anyone", tokens[name])
		response, err := client.Do(request)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body) // it ends with the time
		return response.StatusCode, string(text)
	}
	var pages sync.WaitGroup
	for _, known := range []string{"events=1", "events=0"} { // a page that was read before the first commit knows 0
		pages.Go(func() {
			if _, text := stream("own", known); !strings.Contains(text, "event: change") {
				t.Errorf("the own event stream of a page with %s has no event: %q", known, text)
			}
		})
	}
	for query, want := range map[string]int{"events=1": 200, "events=1&tenant=acme": 200, "events=1&tenant=default": 403} {
		pages.Go(func() {
			if status, text := stream("other", query); status != want || strings.Contains(text, "change") {
				t.Errorf("the other tenant's event stream %q is %d %q", query, status, text)
			}
		})
	}
	pages.Wait()
	in := "?session=" + session + "&turn=turn-3"
	for path, want := range map[string]int{
		"/": 200, "/last": 200, "/s/" + session: 404, "/s/" + session + "/compactions": 404, "/t/turn-3": 404, "/t/turn-3" + in: 404, "/c/call-17": 404, "/c/call-17" + in: 404,
		"/i/helper-1%2Ftool-1:result" + in: 404, "/diff" + in + "&before=turn-3&before=call-18&after=turn-3&after=call-19": 404, "/search?id=call-17": 404, "/evidence": 200,
		"/api/v1/sessions": 200, "/api/v1/sessions/" + session: 200, "/api/v1/turns/turn-3/window?session_id=" + session: 404, "/api/v1/calls/call-17/window": 404,
		"/s/" + session + "?tenant=default": 403, "/?tenant=acme&tenant=default": 403, "/?tenant=default": 403, "/api/v1/sessions?tenant=default": 403,
	} {
		status, text := ask("other", path, "")
		if name := strings.ReplaceAll(strings.ReplaceAll(text, session, ""), "demo-sess", ""); status != want || regexp.MustCompile(`demo-run|scripted|helper-1/tool-2|call-1[0-6]`).MatchString(name) {
			t.Errorf("%s is %d for the other tenant: %.600s", path, status, text)
		}
	}
	if status, text := ask("own", "/s/"+session, ""); status != http.StatusOK || !strings.Contains(text, "call-17") {
		t.Errorf("the page of the session is %d for its tenant", status)
	}
	event := strings.TrimSpace(strings.Replace(clitest.OneEvent, `"id":"`, `"id":"by-token-`, 1))
	for body, want := range map[string]int{event: 200, strings.Replace(event, `"sessionid"`, `"tenant":"default","sessionid"`, 1): 422} {
		if status, text := ask("other", "/v1/events", body); status != want {
			t.Errorf("%.80s: %d %s", body, status, text)
		}
	}
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		rows := clitest.Ask(t, data, "--sql", "SELECT arrayStringConcat(groupArray(tenant), ' ') AS tenants FROM events WHERE event_id LIKE 'by-token-%'")
		if rows[0]["tenants"] == "acme" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the event has the tenants %v", rows)
		}
	}
	if status, text := ask("other", "/api/v1/sessions", ""); status != http.StatusOK || !strings.Contains(text, `"s-1"`) {
		t.Errorf("the sessions of the other tenant are %d %s", status, text)
	}
	telemetryOfTheTenant(t, data, ask)
	if _, stderr, code := clitest.Run(t, "token", "revoke", "--file", file, "--name", "other"); code != cli.ExitDone {
		t.Error(stderr)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if status, _ := ask("other", "/q", ""); status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a revoked token is valid")
		}
	}
}

// telemetryOfTheTenant sends OTLP with each token. A call belongs to the tenant of the token only.
func telemetryOfTheTenant(t *testing.T, data string, ask func(name, path, body string) (int, string)) {
	t.Helper()
	body := string(clitest.ReadRepository(t, "producer", "capture", "otlp", "testdata", "genai-event.json"))
	const trace = "5b8efff798038103d269b633813fc60" // the session of a call without a conversation
	for name, last := range map[string]string{"other": "a", "own": "b"} {
		if status, text := ask(name, gateway.LogsPath, strings.ReplaceAll(body, trace+"c", trace+last)); status != http.StatusOK {
			t.Fatalf("OTLP with the token %s: %d %s", name, status, text)
		}
	}
	const calls = `SELECT arrayStringConcat(arraySort(groupUniqArray(concat(tenant, ' ', right(session_id, 1)))), '|') AS found
		FROM events WHERE session_id LIKE 'trace_` + trace + `%'`
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		rows := clitest.Ask(t, data, "--sql", calls)
		if rows[0]["found"] == "acme a|default b" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the calls have the tenants and sessions %v", rows)
		}
	}
}
