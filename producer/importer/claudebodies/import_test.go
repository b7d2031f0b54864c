package claudebodies_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/claudebodies"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// folder is a folder of bodies.
type folder struct {
	t     testing.TB
	index string
	lines []string
}

func newFolder(t testing.TB) *folder {
	return &folder{t: t, index: filepath.Join(t.TempDir(), "index.jsonl")}
}

func (f *folder) write(name, text string) {
	if err := os.WriteFile(filepath.Join(filepath.Dir(f.index), name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// line adds a line to the index.
func (f *folder) line(session, message, request, response string) {
	f.lines = append(f.lines, fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:%02d.000Z","session_id":%q,"message_id":%q,"request_id":"req","request_file":%q,"response_file":%q,"new":1}`,
		len(f.lines), session, message, request, response))
}

// call adds a call with a window of the texts.
func (f *folder) call(session, message string, texts ...string) {
	f.write(message+".request.json", requestOf(texts...))
	f.write(message+".response.json", responseOf(message))
	f.line(session, message, message+".request.json", message+".response.json")
}

func requestOf(texts ...string) string {
	messages := make([]string, len(texts))
	for i, text := range texts {
		messages[i] = fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`, text)
	}
	return `{"model":"m","betas":["b"],"metadata":{"user_id":"person_account__session_s"},"system":"be brief","messages":[` + strings.Join(messages, ",") + `]}`
}

func responseOf(message string) string {
	return fmt.Sprintf(`{"id":%q,"type":"message","model":"m","content":[{"type":"text","text":"answer of %s"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":3,"output_tokens":2}}`, message, message)
}

var key, _ = schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 64)), time.Unix(0, 0))

// read imports the folder.
func (f *folder) read() (events []*schema.Event, report model.Report) {
	f.t.Helper()
	return f.readWith(false)
}

func (f *folder) readWith(texts bool) (events []*schema.Event, report model.Report) {
	f.t.Helper()
	return f.readLarge(texts, nil)
}

func (f *folder) readLarge(texts bool, large func(e *schema.Event, text string)) (events []*schema.Event, report model.Report) {
	f.t.Helper()
	text := strings.Join(f.lines, "\n")
	f.write("index.jsonl", text)
	opts := model.Options{
		Tenant: "default", StoreText: texts, LargeText: large, Key: key, Equality: schema.KeyRing{Keys: []schema.Key{key}}.Equality(),
		Count: func(_, text string) (int64, string) { return int64(len(text)), "bytes" },
	}
	report, err := claudebodies.Import(context.Background(), f.index, strings.NewReader(text), opts, func(e *schema.Event) error {
		if _, found := schema.Validate(e); len(found) > 0 {
			f.t.Errorf("%s: %v", e.Data, found)
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return events, report
}

func same(a, b *schema.Event) bool { return a.Digest() == b.Digest() }

// TestTellingsOfAFolder: an import with texts gives the same ids from another source.
func TestTellingsOfAFolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.call("s;1/2", "msg_1", "one")
	f.call("s;1/2", "msg_2", "one", "two")
	bare, _ := f.read()
	full, _ := f.readWith(true)
	if len(bare) == 0 || len(full) != len(bare) {
		t.Fatalf("%d facts with texts, %d without", len(full), len(bare))
	}
	for i, e := range full {
		was, _ := telling.Parse(bare[i].Source)
		now, ok := telling.Parse(e.Source)
		if !ok || e.ID != bare[i].ID || now.Log != telling.ImportSource+"claude-bodies:s%3B1%2F2" || was.Log != now.Log || was.Texts || !now.Texts {
			t.Errorf("fact %d is %s of %s, without texts %s of %s", i, e.ID, e.Source, bare[i].ID, bare[i].Source)
		}
	}
}

// TestLargeText: a text that does not fit into its event is handed over with the event that names it.
func TestLargeText(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	long, almost := strings.Repeat("a", 200<<10), strings.Repeat("b", schema.MaxEventBytes-1)
	f.call("s", "msg_1", "one", long, almost)
	large := make(map[*schema.Event]string)
	events, report := f.readLarge(true, func(e *schema.Event, text string) { large[e] = text })
	var named []string
	for _, e := range events {
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		item, ok := fact.(*schema.ItemAdded)
		if text, isLarge := large[e]; isLarge {
			named = append(named, text)
			if !ok || item.ContentRef.TextDigest() != key.Digest([]byte(text)) || item.ContentMode != schema.ContentRef {
				t.Errorf("a text of %d bytes has the fact %s", len(text), e.Data)
			}
		} else if ok && item.ContentRef.TextDigest() != "" {
			t.Errorf("a text that was not handed over: %s", e.Data)
		}
	}
	if !slices.Equal(named, []string{long, almost}) || len(report.Problems) > 0 {
		t.Errorf("%d large texts, %v", len(named), report.Problems)
	}
	without, _ := f.readWith(true)
	if len(without) != len(events) || without[0].Source == events[0].Source {
		t.Errorf("%d facts of %s, without large texts %d of %s", len(events), events[0].Source, len(without), without[0].Source)
	}
}

// TestFolderGrows: a folder that has grown gives the earlier events first, unchanged.
func TestFolderGrows(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("attempt.request.json", requestOf("one"))
	var before []*schema.Event
	for i, texts := range [][]string{{"one"}, {"one", "two"}, {"one", "two", "three"}, {"one", "four"}} {
		f.call("s", fmt.Sprint("msg_", i), texts...)
		f.call("other", fmt.Sprint("msg_other_", i), append([]string{"another"}, texts...)...)
		after, report := f.read()
		again, _ := f.read()
		if !slices.EqualFunc(after, again, same) {
			t.Fatal("a second import gives other events")
		}
		if len(after) <= len(before) || !slices.EqualFunc(before, after[:len(before)], same) {
			t.Fatalf("after %d calls the earlier events differ", i+1)
		}
		if report.Calls != 2*(i+1) || report.Sessions != 2 || report.Tokens.CacheRead != int64(6*(i+1)) || len(report.Problems) > 0 || report.Ignored["request without a response"] != 1 {
			t.Errorf("the report is %+v", report)
		}
		before = after
	}
	sequences := make(map[string]int64)
	for _, e := range before {
		if sequences[e.Source]++; *e.Sequence != sequences[e.Source] {
			t.Errorf("%s has the sequence %d after %d", e.Source, *e.Sequence, sequences[e.Source])
		}
		if bytes.Contains(e.Data, []byte("person")) {
			t.Errorf("a person's id is in %s", e.Data)
		}
	}
}

// TestHiddenReasoning: reasoning that the client left out is opaque, and its window partial.
func TestHiddenReasoning(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.call("s", "msg_1", "one")
	f.write("msg_2.request.json", `{"model":"m","messages":[{"role":"user","content":"one"},{"role":"assistant","content":[{"type":"thinking","thinking":"<REDACTED>","signature":"c2ln"}]}]}`)
	f.write("msg_2.response.json", responseOf("msg_2"))
	f.line("s", "msg_2", "msg_2.request.json", "msg_2.response.json")
	events, _ := f.read()
	found := ""
	for _, e := range events {
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := fact.(*schema.UsageRecorded); ok {
			found += fmt.Sprintln(u.CallID, u.ProviderMessageID, u.Fidelity, u.Coverage, u.CoverageReasons)
			for _, l := range u.Layers {
				if l.Layer == "opaque" && l.Tokens != nil {
					t.Errorf("opaque blocks have %d tokens", *l.Tokens)
				}
			}
		}
	}
	if want := "msg_1:body msg_1 serialized complete []\nmsg_2:body msg_2 serialized partial [opaque_blocks]\n"; found != want {
		t.Errorf("the calls are\n%s", found)
	}
}

// TestBadFolders: what cannot be read is a problem of its line, and the other calls are imported.
func TestBadFolders(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.call("s", "msg_1", "one")
	outside := filepath.Join(filepath.Dir(filepath.Dir(f.index)), "x.request.json")
	if err := os.WriteFile(outside, []byte(requestOf("secret")), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(f.index)
	if err := os.Symlink(outside, filepath.Join(dir, "link.request.json")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.request.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(filepath.Join(dir, "huge.request.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(1 << 31); err != nil {
		t.Fatal(err)
	}
	huge.Close()
	f.write("text.request.json", "secret text")
	f.write("other.request.json", `{"prompt":"secret"}`)
	for name, want := range map[string]model.Reason{
		"../x.request.json": model.ReasonUnexpectedValue, outside: model.ReasonUnexpectedValue, "index.jsonl": model.ReasonUnexpectedValue, "": model.ReasonUnexpectedValue,
		"link.request.json": model.ReasonUnreadableFile, "pipe.request.json": model.ReasonUnreadableFile, "none.request.json": model.ReasonUnreadableFile,
		"huge.request.json": model.ReasonLineTooLong, "text.request.json": model.ReasonMalformedJSON, "other.request.json": model.ReasonMalformedJSON,
	} {
		bad := &folder{t: t, index: f.index, lines: slices.Clone(f.lines)}
		bad.line("s", "msg_2", name, "msg_1.response.json")
		bad.call("s", "msg_3", "one", "two")
		_, report := bad.read()
		if report.Calls != 2 || len(report.Problems) != 1 || report.Problems[0].Reason != want || report.Problems[0].Line != 2 || strings.Contains(report.Problems[0].Detail, "secret") {
			t.Errorf("%q: %d calls, %v", name, report.Calls, report.Problems)
		}
	}
	for line, want := range map[string]model.Reason{
		"no JSON": model.ReasonMalformedJSON, "[]": model.ReasonNotAnObject, `{"session_id":7}`: model.ReasonUnexpectedValue, `{}`: model.ReasonNoSession,
		`{"session_id":"s"}`: model.ReasonBadID, `{"session_id":"s","message_id":"a\"b"}`: model.ReasonBadID, f.lines[0]: model.ReasonDuplicateRecord,
	} {
		bad := &folder{t: t, index: f.index, lines: []string{f.lines[0], line, ""}}
		if _, report := bad.read(); report.Calls != 1 || len(report.Problems) != 1 || report.Problems[0].Reason != want {
			t.Errorf("%q: %d calls, %v", line, report.Calls, report.Problems)
		}
	}
	lost := &folder{t: t, index: f.index, lines: slices.Clone(f.lines)}
	lost.write("msg_4.request.json", requestOf("one", "two"))
	lost.line("s", "msg_4", "msg_4.request.json", "msg_4.response.json")
	lost.line("s", "msg_5", "msg_4.request.json", "msg_1.response.json")
	lost.call("s", "msg_6", "one", "two")
	for _, text := range []string{"", responseOf("msg_6")[:40], "[]"} { // the client ended while it wrote
		lost.write("msg_6.response.json", text)
		_, report := lost.read()
		if report.Calls != 4 || len(report.Problems) != 3 || report.Problems[2].Line != 4 || report.Problems[2].Reason != model.ReasonMalformedJSON {
			t.Errorf("with the response %q: %d calls, %v", text, report.Calls, report.Problems)
		}
	}
}

// FuzzFolder: no index and no bodies make a panic, or an event that the contract refuses.
func FuzzFolder(f *testing.F) {
	f.Add(`"timestamp":"2026-01-02T03:04:05Z","session_id":"s","message_id":"m"`, requestOf("one"), responseOf("m"))
	f.Add(`"session_id":"s","message_id":"m"`, `{"messages":[{"content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}]}`, `{"id":"m","content":[{}]}`)
	f.Fuzz(func(t *testing.T, members, request, response string) {
		b := newFolder(t)
		b.write("a.request.json", request)
		b.write("a.response.json", response)
		b.lines = []string{"{" + members + `,"request_file":"a.request.json","response_file":"a.response.json"}`}
		b.read()
	})
}
