package site_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/browsertest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/pagetest"
	"github.com/ctxledger/ctxledger/schema"
)

// hostileTexts are texts that would run, break out of their place, lead to another page, or change
// how a line reads. Texts that need no place of their own are one text, because each costs a session with
// all of its pages: what may stand in an id, what may stand in other texts only, and paths.
var hostileTexts = []string{
	`javascript:document.title="sentinel"//<script>document.title="sentinel"</script>"><img src=x onerror=document.title="sentinel">` +
		`' autofocus onfocus='document.title="sentinel"</title></style><svg onload=document.title="sentinel">{{.Title}}` + "\u202egnp.exe\u2066",
	"\x1b[31mred\x1b[0m\x07" + strings.Repeat("M", 4000) + " ",
	"../../etc/passwd/a/../b?c=d&e=%2e%2e#f", "..",
}

// TestHostileTextOnServedPages records sessions that have hostile text in every field that may hold
// it. Each page that a link leads to exists. No page has an element, a handler or an address that
// comes from a text, and in a browser no text runs.
func TestHostileTextOnServedPages(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	found := clitest.Up(t, data)
	sessions := make(map[string]bool)
	for turn := range hostileTexts {
		events := hostileEvents(t, turn)
		sessions[events[0].SessionID] = true
		file := filepath.Join(t.TempDir(), "events.ndjson")
		var lines bytes.Buffer
		for _, e := range events {
			document, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(document, '\n'))
		}
		if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
			t.Fatalf("publish ended with %d: %.2000s%.2000s", code, stdout, stderr)
		}
	}
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		if len(clitest.Ask(t, data, "sessions")) == len(sessions) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d sessions are projected", len(clitest.Ask(t, data, "sessions")), len(sessions))
		}
	}
	base := strings.TrimSuffix(found.Explorer, "/")
	kinds := make(map[string][]string)
	for _, path := range crawl(t, base) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		kinds[kind] = append(kinds[kind], path)
	}
	if !sessions[".."] {
		t.Errorf("no session of %v is named by two dots", slices.Sorted(maps.Keys(sessions)))
	}
	delete(sessions, "..") // a browser reads the address of its page as that of the list
	for _, kind := range []string{"s", "c", "i"} {
		if len(kinds[kind]) < len(sessions) {
			t.Errorf("%d pages below /%s were found, want at least %d", len(kinds[kind]), kind, len(sessions))
		}
	}
	b := browsertest.Start(t)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for _, path := range kinds[kind][:min(len(kinds[kind]), 3)] {
			b.Visit(t, base+path, base, browsertest.View{Width: 390, Height: 800, Scheme: "light"})
			if title := browsertest.Eval[string](t, b, "document.title"); title == "sentinel" {
				t.Errorf("a text ran on %s", path)
			}
		}
	}
}

// hostileEvents returns the golden events as one session, in which every text that may be another one
// is hostile. A text is the same wherever it stands, so that ids still match. turn chooses which text
// stands where.
func hostileEvents(t *testing.T, turn int) (events []*schema.Event) {
	t.Helper()
	var documents []any
	texts := make(map[string]bool)
	for _, kind := range schema.Types() {
		if slices.Contains(schema.OperatorTypes(), kind) {
			continue
		}
		var document map[string]any
		if err := json.Unmarshal(schema.Golden(kind), &document); err != nil {
			t.Fatal(err)
		}
		delete(document, "tenant")
		document["id"] = fmt.Sprint(document["id"], "-", turn)
		collectTexts(document, texts)
		delete(texts, "model") // what a window is for, as its page needs it
		documents = append(documents, document)
	}
	replaced := 0
	for i, text := range slices.Sorted(maps.Keys(texts)) {
		hostile := hostileTexts[(i+turn)%len(hostileTexts)]
		if hostile != ".." || !strings.HasPrefix(text, "sess-") { // one session is named by two dots alone
			hostile += text
		}
		candidate, valid := slices.Clone(documents), true
		for j, document := range documents {
			held := make(map[string]bool)
			if collectTexts(document, held); !held[text] {
				continue
			}
			candidate[j] = withText(document, text, hostile)
			e, violations := readDocument(t, candidate[j])
			valid = valid && e != nil && len(violations) == 0
		}
		if valid {
			documents = candidate
			replaced++
		}
	}
	if replaced < len(texts)/2 {
		t.Fatalf("%d of %d texts may be others", replaced, len(texts))
	}
	for _, document := range documents {
		e, _ := readDocument(t, document)
		events = append(events, e)
	}
	return events
}

// readDocument returns the event of a document, and what the contract says against it. The event is nil
// if the document is none.
func readDocument(t *testing.T, document any) (*schema.Event, schema.Violations) {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	e, err := schema.ParseStructured(text)
	if err != nil {
		return nil, nil
	}
	fact, violations := schema.Validate(e)
	return e, schema.CheckDoor(e, fact, violations)
}

// withText returns a document with one text in the place of another.
func withText(value any, from, to string) any {
	switch v := value.(type) {
	case string:
		if v == from {
			return to
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = withText(v[i], from, to)
		}
		return list
	case map[string]any:
		members := make(map[string]any, len(v))
		for name := range v {
			members[name] = withText(v[name], from, to)
		}
		return members
	}
	return value
}

// collectTexts adds the texts of a document.
func collectTexts(value any, texts map[string]bool) {
	switch v := value.(type) {
	case string:
		texts[v] = true
	case []any:
		for _, element := range v {
			collectTexts(element, texts)
		}
	case map[string]any:
		for _, member := range v {
			collectTexts(member, texts)
		}
	}
}

// choiceValue matches the values of choices, which a browser does not show.
var choiceValue = regexp.MustCompile(`<option value="[^"]*"`)

// crawl visits every page that a link of the explorer leads to, and returns their paths.
func crawl(t *testing.T, base string) (visited []string) {
	t.Helper()
	seen := map[string]bool{"/": true}
	for waiting := []string{"/"}; len(waiting) > 0; waiting = waiting[1:] {
		path := waiting[0]
		if len(seen) > 2000 {
			t.Fatalf("the links have no end; the newest is %.300q", path)
		}
		response, text := clitest.Get(t, base+path)
		if response.StatusCode != 200 && response.StatusCode != 303 {
			t.Errorf("%.300q answers %d:\n%.600s", path, response.StatusCode, text)
			continue
		}
		if response.StatusCode == 303 {
			continue
		}
		visited = append(visited, path)
		shown := choiceValue.ReplaceAllString(text, "")
		for i, r := range shown {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Errorf("%.300q has the character %U after %q", path, r, shown[max(0, i-200):i])
				break
			}
		}
		page, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for n := range page.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "script" && pagetest.Attribute(n, "src") == "" || n.Data == "img" || n.Data == "iframe" {
				t.Errorf("%.300q has the element %s", path, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "autofocus" {
					t.Errorf("%.300q: <%s> has %s=%.100q", path, n.Data, a.Key, a.Val)
				}
				if a.Key != "href" && a.Key != "src" && a.Key != "action" {
					continue
				}
				target, err := url.Parse(a.Val)
				if err != nil || target.Scheme != "" || target.Host != "" {
					t.Errorf("%.300q: <%s> has %s=%.200q", path, n.Data, a.Key, a.Val)
					continue
				}
				next := (&url.URL{Path: "/"}).ResolveReference(target) // as a browser does
				address := next.RequestURI()
				if n.Data != "a" || !strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "/api/") || seen[address] {
					continue
				}
				seen[address] = true
				waiting = append(waiting, address)
			}
		}
	}
	return visited
}
