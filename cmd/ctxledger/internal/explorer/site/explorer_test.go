package site_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/demo"
)

// explorerEqualsAnswers visits every page of the demo's session, and compares what the pages and
// the read API say with what the commands say.
func explorerEqualsAnswers(t *testing.T, data, base, session string) {
	t.Helper()
	base = strings.TrimSuffix(base, "/")
	in := "?session=" + session
	for path, want := range map[string]int{
		"/": 200, "/s/" + session: 200, "/s/" + session + "/compactions": 200, "/t/turn-3": 303, "/t/turn-3" + in: 303, "/c/call-17": 200, "/c/call-17" + in + "&turn=turn-3": 200,
		"/i/" + url.PathEscape("helper-1/tool-1:result") + in: 200, "/diff" + in + "&before=turn-3&before=call-18&after=turn-3&after=call-19": 200,
		"/q": 200, "/q/gaps": 200, "/q/gaps?run=1&session_id=" + session: 200, "/evidence": 200, "/search?id=call-17": 303, "/search?id=call-1": 200, "/search?id=": 303,
		"/s/demo-sessio": 404, "/t/turn-33": 404, "/c/call-1777": 404, "/i/nosuch" + in: 404, "/i/nosuch": 404, "/i/helper-1%2Ftool-1:result": 200, "/search?id=helper-1/tool-1:result": 303, "/diff": 400, "/q/nosuch": 404, "/q/gaps?run=1&session_id=x&limit=-1": 400,
		"/nosuch": 404, "/assets/explorer.css": 200, "/assets/explorer.js": 200, "/assets/icon.svg": 200,
	} {
		response, text := clitest.Get(t, base+path)
		if response.StatusCode != want {
			t.Errorf("%s answers %d, want %d:\n%.400s", path, response.StatusCode, want, text)
		}
		if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if strings.Contains(text, demo.Secret()) || strings.Contains(text, " style=") || strings.Contains(text, "ZgotmplZ") {
			t.Errorf("%s has the secret, an inline style, or text that no template could escape", path)
		}
		if len(text) > 1_500_000 {
			t.Errorf("%s has %d bytes", path, len(text))
		}
	}
	if _, text := clitest.Get(t, base+"/s/demo-sessio"); !strings.Contains(text, `href="/s/demo-session"`) {
		t.Error("an unknown session does not offer the near one")
	}
	for header, want := range map[[2]string]int{{"Host", "evil.example"}: 421, {"Host", "evil.example:80"}: 421, {"Host", "localhost"}: 200, {"Host", "[::1]:7070"}: 200,
		{"Sec-Fetch-Site", "cross-site"}: 403, {"Sec-Fetch-Site", "same-origin"}: 200, {"Sec-Fetch-Site", "none"}: 200} {
		if response, _ := clitest.Get(t, base+"/q", header[0], header[1]); response.StatusCode != want {
			t.Errorf("%v answers %d, want %d", header, response.StatusCode, want)
		}
	}
	if response, err := http.Post(base+"/", "application/x-www-form-urlencoded", strings.NewReader("a=b")); err != nil || response.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a form that is posted answers %v, %v", response, err)
	}
	head, _, _ := clitest.Run(t, "proof", "checkpoint", "--data", data)
	fields, evidence := strings.Fields(head), textOf(parsePage(t, base+"/evidence"))
	if len(fields) < 6 || !strings.Contains(evidence, fields[1]) || !strings.Contains(evidence, fields[5]) || !strings.Contains(evidence, fields[len(fields)-1]) {
		t.Errorf("the evidence page lacks the log, the root or the signer of the head\n%s", head)
	}
	sessionPageEqualsAnswers(t, data, base, session)
	apiEqualsAnswers(t, data, base, session)
}

// parsePage returns the elements of a page.
func parsePage(t *testing.T, address string) *html.Node {
	t.Helper()
	_, text := clitest.Get(t, address)
	page, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// shownSession is a session as the query river and the page of the session tell of it.
type shownSession struct {
	id    string
	calls []map[string]any    // rows of the query
	table map[string][]string // rows of the page, by turn and call
}

// pagesEqualAnswers compares the numbers of the list and of each session's page with the commands. It
// returns the sessions.
func pagesEqualAnswers(t *testing.T, data, base string) (sessions []shownSession) {
	t.Helper()
	base = strings.TrimSuffix(base, "/")
	list := clitest.Ask(t, data, "sessions")
	trs := all(find(parsePage(t, base+"/"), func(n *html.Node) bool { return attribute(n, "id") == "sessions" }), "tr")[1:]
	if len(trs) != len(list) {
		t.Fatalf("the page lists %d sessions, the query %d", len(trs), len(list))
	}
	for i, tr := range trs {
		cells := cellsOf(tr)
		for column, name := range map[int]string{3: "turns", 4: "calls", 5: "max_window_tokens", 8: "output", 9: "compactions", 10: "redactions", 11: "gaps"} {
			if cells[column] != digits(list[i][name]) || attribute(tr, "data-session") != list[i]["session_id"] {
				t.Errorf("session %v: the page says %q for %s, the query says %v", list[i]["session_id"], cells[column], name, list[i][name])
			}
		}
		if share, _ := shareOf(list[i]); plain(cells[7]) != share {
			t.Errorf("session %v: the page says %q was read from the cache, the query %q", list[i]["session_id"], cells[7], share)
		}
		if want := costOf(list[i]); !strings.HasSuffix(plain(cells[12]), want) {
			t.Errorf("session %v: the page says that it cost %q, the query %q", list[i]["session_id"], cells[12], want)
		}
	}
	for _, session := range list {
		id := fmt.Sprint(session["session_id"])
		page := parsePage(t, base+"/s/"+url.PathEscape(id))
		figuresEqualAnswers(t, data, page, session)
		rows, compared, windows := rowsOf(page, "calls"), 0, 0
		shown := shownSession{id, clitest.Ask(t, data, "river", "--param", "session_id="+id), rows}
		sessions = append(sessions, shown)
		for _, call := range shown.calls {
			if call["window_tokens"] != nil || call["window_expected"] != nil {
				windows++
			}
			cells, ok := rows[fmt.Sprint(call["turn_id"], " ", call["call_id"])]
			for column, name := range map[int]string{4: "window_tokens", 7: "cache_read", 8: "cache_written", 9: "lost_tokens"} {
				if ok && cells[column] != digits(call[name]) {
					t.Errorf("call %v: the page says %q for %s, the query says %v", call["call_id"], cells[column], name, call[name])
				}
			}
			if ok {
				compared++
			}
		}
		if compared < windows || compared != len(rows) {
			t.Errorf("session %s: %d calls of %d with a window were compared; the page has %d", id, compared, windows, len(rows))
		}
	}
	return sessions
}

// figuresEqualAnswers compares the figures at the head of a session's page with the queries. session is
// its row of sessions.
func figuresEqualAnswers(t *testing.T, data string, page *html.Node, session map[string]any) {
	t.Helper()
	id := fmt.Sprint(session["session_id"])
	figures := make(map[string]string) // by the beginning of what they are about
	for _, li := range all(find(page, func(n *html.Node) bool { return attribute(n, "class") == "facts" }), "li") {
		about := textOf(all(li, "span")[0])
		words := strings.Fields(about)
		figures[strings.Join(words[:min(2, len(words))], " ")] = plain(textOf(all(li, "b")[0]))
	}
	check := func(about, want string) {
		if got := figures[about]; got != want {
			t.Errorf("session %s: the page says %q of %s…, the queries say %q", id, got, about, want)
		}
	}
	if n, ok := session["max_window_tokens"].(float64); ok {
		check("tokens in", fmt.Sprintf("%.0f", n))
	}
	share, billed := shareOf(session)
	if billed {
		check("of billed", share)
	}
	var paid float64
	for _, cause := range clitest.Ask(t, data, "cache-bill", "--param", "session_id="+id) {
		recomputed, known := cause["recomputed_billed"].(float64)
		unbroken, _ := cause["unbroken_billed"].(float64)
		if known && cause["cause"] != "append" && cause["cause"] != "first" {
			paid += recomputed - unbroken
		}
	}
	if billed {
		check("tokens paid", fmt.Sprintf("%.0f", paid))
	}
	if want := costOf(session); want != "" {
		check("cost of", want)
	}
	sub := plain(textOf(find(page, func(n *html.Node) bool { return attribute(n, "class") == "sub" })))
	if want := fmt.Sprintf("%.0fcall", session["calls"]); !strings.Contains(sub, want) {
		t.Errorf("session %s: the page says %q, the query counts %v calls", id, sub, session["calls"])
	}
}

// plain removes all white space, such as that between thousands.
func plain(s string) string { return strings.Join(strings.Fields(s), "") }

// shareOf returns which share of a session's input was read from the cache, as a page writes it.
func shareOf(session map[string]any) (share string, billed bool) {
	read, known := session["cache_read"].(float64)
	uncached, _ := session["uncached_input"].(float64)
	written, _ := session["cache_written"].(float64)
	if whole := read + uncached + written; known && whole > 0 {
		return fmt.Sprintf("%.1f%%", 100*read/whole), true
	}
	return "", false
}

// costOf returns what a session cost, as a page writes it without white space.
func costOf(session map[string]any) string {
	cost, known := session["at_least_cost"].(float64)
	if currencies, _ := session["priced_currencies"].([]any); known && len(currencies) == 1 {
		return fmt.Sprintf("%.2f%v", cost, currencies[0])
	}
	return ""
}

// sessionPageEqualsAnswers compares the list of sessions, the table of calls and a window with the
// commands.
func sessionPageEqualsAnswers(t *testing.T, data, base, session string) {
	t.Helper()
	pagesEqualAnswers(t, data, base)
	stdout, _, _ := clitest.Run(t, "window", "--session", session, "--turn", "turn-3", "--call", "call-17", "-o", "json", "--data", data)
	var window struct {
		Blocks []struct {
			Position int64  `json:"position"`
			Tokens   any    `json:"tokens"`
			Target   string `json:"target"`
		} `json:"blocks"`
	}
	if err := json.Unmarshal([]byte(stdout), &window); err != nil {
		t.Fatal(err)
	}
	blocks := all(find(parsePage(t, base+"/c/call-17?turn=turn-3&session="+session), func(n *html.Node) bool { return n.Data == "tbody" }), "tr")
	i := 0
	for _, b := range window.Blocks {
		if b.Target != "" && b.Target != "model" {
			continue
		}
		if cells := cellsOf(blocks[i]); cells[0] != fmt.Sprint(b.Position) || cells[3] != digits(b.Tokens) {
			t.Errorf("block %d: the page says %v, the command says %v", b.Position, cells, b.Tokens)
		}
		i++
	}
	if i != len(blocks) || i < 10 {
		t.Errorf("the page lists %d blocks, the command %d", len(blocks), i)
	}
}

// apiEqualsAnswers holds the read API against its document and against -o json.
func apiEqualsAnswers(t *testing.T, data, base, session string) {
	t.Helper()
	response, text := clitest.Get(t, base+"/api/v1/openapi.json")
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the document: %d, %v", response.StatusCode, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("api.json", document); err != nil {
		t.Fatal(err)
	}
	paths := document.(map[string]any)["paths"].(map[string]any)
	clientFollowsDocument(t, base, session, paths)
	for path := range paths {
		for name, value := range map[string]string{"{session}": session, "{turn}": "turn-3", "{call}": "call-17", "{item}": url.PathEscape("helper-1/tool-1:result"), "{name}": "turns"} {
			path = strings.ReplaceAll(path, name, value)
		}
		apiAnswers(t, compiler, base, path, session)
	}
	for path, args := range map[string][]string{
		"/sessions":                            {"query", "sessions", "-o", "json"},
		"/queries/turns?session_id=" + session: {"query", "turns", "--param", "session_id=" + session, "-o", "json"},
		"/sessions/" + session + "/calls":      {"query", "river", "--param", "session_id=" + session, "-o", "json"},
		"/calls/call-17/window?turn_id=turn-3&session_id=" + session:                                           {"window", "--session", session, "--turn", "turn-3", "--call", "call-17", "-o", "json"},
		"/items/" + url.PathEscape("helper-1/tool-1:result") + "/history?turn_id=turn-4&session_id=" + session: {"why", "--session", session, "--turn", "turn-4", "--item", "helper-1/tool-1:result", "-o", "json"},
	} {
		_, got := clitest.Get(t, base+"/api/v1"+path)
		want, stderr, code := clitest.Run(t, append(args, "--data", data)...)
		if code != cli.ExitDone || strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s and %v differ (%d, %s):\n%.300s\n%.300s", path, args, code, stderr, got, want)
		}
	}
	for path, code := range map[string]string{"/queries/nosuch": "unknown_query", "/turns/nosuch/window": "unknown_id", "/gaps": "wrong_request", "/diff": "wrong_request", "/nosuch": "unknown_path", "/sessions?nosuch=1": "wrong_request"} {
		response, text := clitest.Get(t, base+"/api/v1"+path)
		if response.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(text, `"code":"`+code+`"`) {
			t.Errorf("%s answers %d %s %.300s, want the code %s", path, response.StatusCode, response.Header.Get("Content-Type"), text, code)
		}
	}
}

// apiAnswers asks one path of the document and holds the answer against its schema and its ETag.
func apiAnswers(t *testing.T, compiler *jsonschema.Compiler, base, path, session string) {
	t.Helper()
	given := ""
	switch {
	case strings.HasSuffix(path, "/gaps"), strings.HasSuffix(path, "/queries/turns"), strings.HasSuffix(path, "/window"), strings.HasSuffix(path, "/history"):
		given = "?session_id=" + session
	case strings.HasSuffix(path, "/diff"):
		given = "?session_id=" + session + "&before_turn=turn-2&after_turn=turn-3"
	}
	response, text := clitest.Get(t, base+path+given)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s answers %d: %.300s", path+given, response.StatusCode, text)
		return
	}
	again, empty := clitest.Get(t, base+path+given, "If-None-Match", response.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified || empty != "" {
		t.Errorf("%s with its ETag answers %d", path, again.StatusCode)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	pattern := path
	for name, part := range map[string]string{"{session}": "/" + session, "{turn}": "/turn-3", "{call}": "/call-17", "{item}": "/" + url.PathEscape("helper-1/tool-1:result"), "{name}": "/queries/turns"} {
		if name == "{name}" {
			pattern = strings.ReplaceAll(pattern, part, "/queries/{name}")
			continue
		}
		pattern = strings.ReplaceAll(pattern, part, "/"+name)
	}
	pointer := strings.NewReplacer("~", "~0", "/", "~1").Replace(pattern)
	schema, err := compiler.Compile("api.json#/paths/" + url.PathEscape(pointer) + "/get/responses/200/content/application~1json/schema")
	if err != nil {
		t.Errorf("%s: %v", pattern, err)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}
