package demo_test

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
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/pagetest"
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
	fields, evidence := strings.Fields(head), pagetest.Text(pagetest.Parse(t, base+"/evidence"))
	if len(fields) < 6 || !strings.Contains(evidence, fields[1]) || !strings.Contains(evidence, fields[5]) || !strings.Contains(evidence, fields[len(fields)-1]) {
		t.Errorf("the evidence page lacks the log, the root or the signer of the head\n%s", head)
	}
	sessionPageEqualsAnswers(t, data, base, session)
	apiEqualsAnswers(t, data, base, session)
}

// sessionPageEqualsAnswers compares the list of sessions, the table of calls and a window with the
// commands.
func sessionPageEqualsAnswers(t *testing.T, data, base, session string) {
	t.Helper()
	pagetest.EqualAnswers(t, data, base)
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
	blocks := pagetest.All(pagetest.Find(pagetest.Parse(t, base+"/c/call-17?turn=turn-3&session="+session), func(n *html.Node) bool { return n.Data == "tbody" }), "tr")
	i := 0
	for _, b := range window.Blocks {
		if b.Target != "" && b.Target != "model" {
			continue
		}
		if cells := pagetest.Cells(blocks[i]); cells[0] != fmt.Sprint(b.Position) || cells[3] != pagetest.Digits(b.Tokens) {
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
