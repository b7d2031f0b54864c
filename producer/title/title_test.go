package title

import (
	"context"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/secrets"
)

func maker(t testing.TB) *Maker {
	rules, err := secrets.New()
	if err != nil {
		t.Fatal(err)
	}
	return &Maker{Detector: rules}
}

func TestCall(t *testing.T) {
	t.Parallel()
	m := maker(t)
	long := strings.Repeat("folder/", 20)
	for _, c := range []struct{ name, arguments, want string }{
		{"Read", `{"file_path":"/home/me/project/src/app.go","limit":10}`, "Read src/app.go"},
		{"Read", `{"limit":10,"file_path":"/etc/hosts"}`, "Read /etc/hosts"},
		{"Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, "Edit a.go"},
		{"Bash", `{"command":"go test ./...","description":"Run the tests"}`, "Bash go test ./..."},
		{"Bash", `{"command":"cd /home/me/project/src\n  ls"}`, "Bash cd src ls"},
		{"Grep", `{"pattern":"TODO","path":"src"}`, "Grep TODO src"},
		{"WebFetch", `{"prompt":"what","url":"https://example.org/a"}`, "WebFetch https://example.org/a"},
		{"Task", `{"prompt":"long text","description":"Find the bug"}`, "Task Find the bug"},
		{"str_replace_editor", `{"command":"view","path":"/home/me/project/a.py"}`, "str_replace_editor view a.py"},
		{"str_replace_editor", `{"command":"view","path":"/x/` + long + `a.py"}`, "str_replace_editor view …/" + strings.Repeat("folder/", 7) + "a.py"},
		{"Bash", `{"command":"cat ` + strings.Repeat("x", 100) + `"}`, "Bash cat " + strings.Repeat("x", 70) + "…"},
		{"shell", `{"command":["bash","-lc","go vet ./..."]}`, "shell go vet ./..."},
		{"shell", `{"command":["ls","-l"]}`, "shell ls -l"},
		{"apply_patch", "*** Begin Patch\n*** Update File: src/a.go\n@@\n", "apply_patch src/a.go"},
		{"shell", `{"command":["apply_patch","*** Begin Patch\n*** Add File: b.go\n+x\n"]}`, "shell b.go"},
		{"open", "open src/a.py 10\nmore", "open src/a.py 10"},
		{"ls", "ls", "ls"},
		{"TodoWrite", `{"todos":[{"content":"x"}]}`, ""},
		{"Broken", `{"file_path":"a`, ""},
		{"Empty", "", ""},
		{"Read", `{"file_path":"` + long + `app.go"}`, "Read …" + "/" + strings.Repeat("folder/", 9) + "app.go"},
		{"Bash", `{"command":"` + strings.Repeat("word ", 30) + `"}`, "Bash " + strings.TrimSpace(strings.Repeat("word ", 15)) + "…"},
		{"Bash", `{"command":"a\u202eb\u0007 \u001b[31mred"}`, "Bash ab red"},
	} {
		if got := m.Call(c.name, c.arguments, "/home/me/project"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.arguments, got, c.want)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	m := maker(t)
	for text, want := range map[string]string{
		"Fix the test":                  "Fix the test",
		"  Fix\n\nthe\ttest\r\n":        "Fix the test",
		"":                              "",
		strings.Repeat("x", 100):        strings.Repeat("x", 79) + "…",
		strings.Repeat("seventeen ", 9): strings.TrimSpace(strings.Repeat("seventeen ", 8)) + "…",
		"<command-message>init</command-message> <command-name>/init</command-name> <command-args>all</command-args>": "/init all",
		"<local-command-stdout>\x1b[2mCompacted \x1b[38;5;12m(all)\x1b[22m</local-command-stdout>":                    "Compacted (all)",
		"see \x1b]8;;https://example.com\x1b\\the page\x1b]8;;\x07 \x1b[":                                             "see the page [",
	} {
		if got := m.Prompt(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestNoSecretInPieces puts what a title leaves out into a secret.
func TestNoSecretInPieces(t *testing.T) {
	t.Parallel()
	m := maker(t)
	const secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
	for _, piece := range []string{"\x1b[0m", "\u200b", "\u202e", "\x00", "\xff"} {
		text := "use " + secret[:9] + piece + secret[9:]
		for _, got := range []string{m.Prompt(text), m.Call("Bash", `{"command":"`+strings.ReplaceAll(text, "\x1b", `\u001b`)+`"}`, "")} {
			if strings.Contains(got, secret[9:15]) {
				t.Errorf("the title of a secret with %q is %q", piece, got)
			}
		}
	}
}

// TestNoPartOfASecret puts secrets at every position around the end of a title.
func TestNoPartOfASecret(t *testing.T) {
	t.Parallel()
	m := maker(t)
	for _, secret := range []string{
		"ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", "AKIA" + "QYLPMN5HHHFPZAM2", "sk-ant-" + "api03-" + strings.Repeat("aB3xY9_-kQ7w", 8)[:93] + "AA",
	} {
		found := false
		for before := range 100 {
			text := strings.Repeat("y", before) + " " + secret + " and more"
			for _, got := range []string{m.Prompt(text), m.Call("Bash", `{"command":"`+text+`"}`, ""), m.Call("Read", `{"file_path":"`+text+`"}`, "")} {
				found = found || strings.Contains(got, "[redacted:")
				for n := 8; n <= len(secret); n++ {
					if strings.Contains(got, secret[:n]) || strings.Contains(got, secret[len(secret)-n:]) {
						t.Fatalf("after %d characters the title is %q", before, got)
					}
				}
			}
		}
		if !found {
			t.Errorf("%.6s… was in no title", secret)
		}
	}
	if got := m.Prompt("ok " + strings.Repeat("word ", maxText)); got != "" {
		t.Errorf("a text that no detector has seen gives %q", got)
	}
}

// nothing is a detector that finds nothing.
type nothing struct{}

func (nothing) Detect(context.Context, string) []redact.Value { return nil }

func FuzzTitle(f *testing.F) {
	f.Add("Read", `{"file_path":"/a/b"}`, "/a")
	f.Add("Bash", `{"command":["bash","-lc","x"]}`, "")
	f.Add("apply_patch", "*** Begin Patch\n*** Add File: \u202e\n", "/")
	f.Fuzz(func(t *testing.T, name, arguments, folder string) {
		m := &Maker{Detector: nothing{}}
		for _, got := range []string{m.Call(name, arguments, folder), m.Prompt(arguments)} {
			if utf8.RuneCountInString(got) > MaxCharacters || !utf8.ValidString(got) || strings.TrimSpace(got) != got {
				t.Fatalf("%q", got)
			}
			for _, r := range got {
				if !unicode.IsPrint(r) {
					t.Fatalf("%q has %U", got, r)
				}
			}
		}
	})
}
