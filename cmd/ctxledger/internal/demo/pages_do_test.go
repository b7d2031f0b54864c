package demo_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/browsertest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/pagetest"
)

// packsFromThePage makes a pack of the session and verifies it, as the buttons of the evidence page do.
// The command verifies it, too, and the ledger records that it was made. What a form of another site
// can send makes no pack.
func packsFromThePage(t *testing.T, data, base, session string) {
	t.Helper()
	base = strings.TrimSuffix(base, "/")
	asked := []byte(`{"session":"` + session + `"}`)
	recorded := func() int {
		return len(clitest.Ask(t, data, "--sql", "SELECT event_id FROM events WHERE event_type = 'context.exported' AND session_id = {session:String}", "--param", "session="+session))
	}
	before := recorded()
	for want, headers := range map[int][][]string{
		http.StatusForbidden:            {{"Content-Type", "application/json", "Sec-Fetch-Site", "cross-site"}, {"Content-Type", "application/json", "Sec-Fetch-Site", "same-site"}, {"Content-Type", "application/json", "Origin", "http://evil.example"}},
		http.StatusUnsupportedMediaType: {{}, {"Content-Type", "text/plain"}, {"Content-Type", "application/x-www-form-urlencoded"}, {"Content-Type", "application/zip"}},
	} {
		for _, header := range headers {
			if response, text := clitest.Post(t, base+"/evidence/packs", asked, header...); response.StatusCode != want {
				t.Errorf("a pack with %q: %d %s", header, response.StatusCode, text)
			}
		}
	}
	for body, want := range map[string]int{`{"session":"nosuch"}`: 404, `{}`: 400, `[`: 400} {
		if response, text := clitest.Post(t, base+"/evidence/packs", []byte(body), "Content-Type", "application/json"); response.StatusCode != want {
			t.Errorf("a pack of %s: %d %s", body, response.StatusCode, text)
		}
	}
	response, made := clitest.Post(t, base+"/evidence/packs", asked, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/zip" || !strings.Contains(response.Header.Get("Content-Disposition"), "pack-"+session+".zip") {
		t.Fatalf("the pack: %d %v %.300s", response.StatusCode, response.Header, made)
	}
	file, key := filepath.Join(t.TempDir(), "pack.zip"), filepath.Join(t.TempDir(), "ledger.pub")
	public, _, _ := clitest.Run(t, "proof", "keygen", "--data", data)
	for path, text := range map[string][]byte{file: made, key: []byte(public)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if stdout, stderr, code := clitest.Run(t, "evidence", "verify", file, "--key", key); code != cli.ExitDone {
		t.Errorf("the command says of the pack: %d %s%s", code, stdout, stderr)
	}
	for end := time.Now().Add(clitest.StartPatience); recorded() != before+1; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d packs are recorded, want one more than %d", recorded(), before)
		}
	}
	verdict := func(pack []byte, query string) (int, string) {
		response, text := clitest.Post(t, base+"/evidence/verdicts"+query, pack, "Content-Type", "application/zip")
		return response.StatusCode, string(text)
	}
	if status, text := verdict(made, ""); status != http.StatusOK || !strings.Contains(text, "<h1>Verified, except for what is open</h1>") || !strings.Contains(text, `data-question="inclusion" data-status="passed"`) {
		t.Errorf("the verdict is %d %.600s", status, text)
	}
	other, _, _ := clitest.Run(t, "proof", "keygen", "--data", t.TempDir())
	if status, text := verdict(made, "?key="+url.QueryEscape(strings.TrimSpace(other))); status != http.StatusOK || !strings.Contains(text, ">Not verified</h1>") {
		t.Errorf("the verdict with a foreign key is %d %.600s", status, text)
	}
	changed := bytes.Clone(made)
	changed[len(changed)/2] ^= 1
	if status, text := verdict(changed, ""); status != http.StatusOK || !strings.Contains(text, ">Not verified</h1>") {
		t.Errorf("the verdict on a changed pack is %d %.600s", status, text)
	}
	for query, want := range map[string]int{"?key=nonsense": 400} {
		if status, text := verdict(made, query); status != want {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	if status, text := verdict(make([]byte, 33<<20), ""); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a pack of 33 MiB: %d %.300s", status, text)
	}
}

// itemIsProved compares the badges of an item's page with the proofs of the command.
func itemIsProved(t *testing.T, data, base, session string) {
	t.Helper()
	page := pagetest.Parse(t, base+"/i/"+url.PathEscape("helper-1/tool-1:result")+"?turn=helper-1%2Fturn-1&session="+session)
	steps := pagetest.All(pagetest.Find(page, func(n *html.Node) bool { return pagetest.Attribute(n, "id") == "steps" }), "tr")[1:]
	stdout, stderr, code := clitest.Run(t, "why", "--session", session, "--turn", "helper-1/turn-1", "--item", "helper-1/tool-1:result", "--proof", "-o", "json", "--data", data)
	if proved := strings.Count(stdout, `"proved":true`); code != cli.ExitDone || proved != len(steps) || proved < 10 {
		t.Fatalf("the command proves %d steps, the page has %d: %d %s", proved, len(steps), code, stderr)
	}
	for _, step := range steps {
		if text := pagetest.Text(step); !strings.HasSuffix(strings.TrimSpace(text), "proved") {
			t.Errorf("the step %q has no badge", text)
		}
	}
}

// comparesByDragging drags from one column of the river to another. That leads to the same address as
// the numbers in the form, which needs neither dragging nor JavaScript.
func comparesByDragging(t *testing.T, b *browsertest.Browser, data, base, session string) {
	t.Helper()
	from, to := compacted(t, data, base, session)
	response, _ := clitest.Get(t, base+"/s/"+session+fmt.Sprintf("/calls?from=%d&to=%d&do=compare", from, to))
	compared := response.Header.Get("Location")
	if response.StatusCode != http.StatusSeeOther || !strings.HasPrefix(compared, "/diff?") {
		t.Fatalf("the form leads to %d %s", response.StatusCode, compared)
	}
	wide := browsertest.View{Width: 1280, Height: 800, Scheme: "light"}
	b.Visit(t, base+"/s/"+session, base, wide)
	b.Drag(t, fmt.Sprintf(`.hit[data-first="%d"]`, to), fmt.Sprintf(`.hit[data-first="%d"]`, from))
	b.Await(t, base+compared)
	if page := pagetest.Text(pagetest.Parse(t, base+compared)); !strings.Contains(page, "compaction") || !strings.Contains(page, "first position that differs") {
		t.Errorf("the difference does not say why the windows differ: %.400s", page)
	}
	b.Visit(t, base+"/s/"+session, base, wide)
	browsertest.Eval[bool](t, b, fmt.Sprintf(`const f = document.querySelector('form.compare'), e = f.elements; e.from.value = %d; e.to.value = %d; e.to.focus(), true`, from, to))
	b.Press(t, "\r")
	b.Await(t, base+compared)
	for query, want := range map[string]int{"from=0&to=19&do=compare": 400, "from=1&to=9999&do=compare": 400, "from=17&to=19&do=zoom": 303, "do=compare": 400} {
		if response, text := clitest.Get(t, base+"/s/"+session+"/calls?"+query); response.StatusCode != want {
			t.Errorf("%s: %d %.300s", query, response.StatusCode, text)
		}
	}
	b.Visit(t, base+"/s/"+session+"?from=17&to=19", base, wide, browsertest.View{Width: 390, Height: 800, Scheme: "dark"})
	if n := browsertest.Eval[int](t, b, `document.querySelectorAll('.hit[data-first]').length`); n != 3 {
		t.Errorf("the river of calls 17 to 19 has %d columns", n)
	}
	b.Visit(t, base+"/evidence?session="+session, base, wide)
	browsertest.Eval[bool](t, b, `document.querySelector('[data-make]').click(), true`)
	b.Until(t, `document.getElementById('pack-state').textContent === 'pack-`+session+`.zip was made'`)
}

// compacted returns the numbers of two calls that follow each other, with a compaction between them. The
// number of a call depends on the milliseconds in which the calls of the demo began.
func compacted(t *testing.T, data, base, session string) (from, to int) {
	t.Helper()
	rows := clitest.Ask(t, data, "river", "--param", "session_id="+session)
	at := slices.IndexFunc(rows, func(row map[string]any) bool { return row["cause"] == "compaction" })
	if at < 0 {
		t.Fatal("no call follows a compaction")
	}
	for to = 2; to <= len(rows); to++ {
		response, _ := clitest.Get(t, fmt.Sprintf("%s/s/%s/calls?from=%d&to=%d&do=compare", base, session, to-1, to))
		if leads, err := response.Location(); err == nil && slices.Contains(leads.Query()["after"], rows[at]["call_id"].(string)) {
			return to - 1, to
		}
	}
	t.Fatalf("the page has no call %v", rows[at]["call_id"])
	return 0, 0
}

// storedTextIsShown: the page of an item shows its text where it was stored, escaped, and says nothing of
// it where it was not.
func storedTextIsShown(t *testing.T, data, base string) {
	t.Helper()
	event := func(item, content string) string {
		return `{"specversion":"1.0","id":"` + item + `","source":"urn:texts","type":"dev.ctxledger.context.item.added.v1","subject":"` + item + `","time":"2026-01-02T03:04:05Z","sessionid":"texts-1","threadid":"texts-1","turnid":"turn-1","sequence":"00000000000` + item[len(item)-1:] +
			`","data":{"schema_version":"0.1.0","event_type":"context.item.added","item_id":"` + item + `","context_kind":"file_excerpt"` + content + `}}` + "\n"
	}
	file := filepath.Join(t.TempDir(), "texts.ndjson")
	lines := event("stored-1", `,"content_mode":"inline","content":"<script>document.title='sentinel'</script>\nthe second line \u001b[31m"`) + event("plain-2", `,"content_mode":"digest_only"`)
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d: %s%s", code, stdout, stderr)
	}
	for item, want := range map[string]string{"stored-1": "&lt;script&gt;document.title=&#39;sentinel&#39;&lt;/script&gt;\nthe second line \\u001b[31m</pre>", "plain-2": "What happened to it"} {
		for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
			response, text := clitest.Get(t, base+"/i/"+item+"?session=texts-1")
			if response.StatusCode == http.StatusOK && strings.Contains(text, want) { // the text comes into its table after the fact
				if shows := strings.Contains(text, "The stored text"); shows != (item == "stored-1") {
					t.Errorf("the page of %s:\n%s", item, text)
				}
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the page of %s: %d\n%s", item, response.StatusCode, text)
			}
		}
	}
}
