package pack

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/schema"
)

// someRecord generates a record of any form.
func someRecord(t *rapid.T) *Record {
	r := &Record{
		LogIndex: rapid.Int64Range(0, 1<<62).Draw(t, "index"), StreamSeq: rapid.Uint64Range(0, 1<<62).Draw(t, "seq"),
		Leaf: tlog.RecordHash(rapid.SliceOf(rapid.Byte()).Draw(t, "leaf")),
	}
	kind := rapid.SampledFrom([]string{"event", "event", "event", "erased", "withheld"}).Draw(t, "kind")
	if kind == "erased" {
		r.Erased = rapid.StringN(1, 20, -1).Draw(t, "erasure")
		return r
	}
	r.RecordedAt = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond")).UTC()
	if r.Withheld = kind == "withheld"; r.Withheld {
		return r
	}
	copy(r.Salt[:], rapid.SliceOfN(rapid.Byte(), SaltSize, SaltSize).Draw(t, "salt"))
	r.Event = &schema.Event{
		ID: rapid.StringMatching(`[a-zé"\\&]{1,9}`).Draw(t, "id"), Source: "urn:x", Type: "a.type", DataContentType: "application/json",
		Time: r.RecordedAt, Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
	}
	r.Event.SessionID = rapid.StringMatching(`[ -~]{0,9}`).Draw(t, "session")
	if rapid.Bool().Draw(t, "json") {
		r.Event.Data = []byte(`{"text":"` + rapid.StringMatching(`[a-z<> 
é]{0,9}`).Draw(t, "text") + `"}`)
	}
	return r
}

// TestRecordComesBack writes and reads each valid record. The result and its bytes are equal to the
// original.
func TestRecordComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := someRecord(t)
		line := AppendRecord(nil, r)
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("more than a line: %s", line)
		}
		got, err := ParseRecord(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if again := AppendRecord(nil, got); !bytes.Equal(again, line) {
			t.Fatalf("read and written again:\n%s%s", again, line)
		}
		if r.Event != nil && (got.Event.Digest() != r.Event.Digest() || !bytes.Equal(got.Event.Data, r.Event.Data)) {
			t.Fatalf("another event: %+v", got.Event)
		}
		changed := bytes.Clone(line)
		at := rapid.IntRange(0, len(line)-2).Draw(t, "at")
		changed[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		other, err := ParseRecord(changed)
		if err == nil && bytes.Equal(AppendRecord(nil, other), line) {
			t.Fatalf("two lines for a record:\n%s%s", line, changed)
		}
	})
}

func TestParseRecordNamesThePlace(t *testing.T) {
	t.Parallel()
	line := string(AppendRecord(nil, &Record{LogIndex: 7, StreamSeq: 9, RecordedAt: time.Unix(0, 0), Event: &schema.Event{ID: "a", Source: "urn:x", Type: "t", Data: []byte(`{"a":1}`), DataContentType: "application/json"}}))
	for change, want := range map[[2]string]string{
		{`"log_index":7`, `"log_index":-7`}:    "byte 14: want a whole number",
		{`"stream_seq"`, `"stream_sex"`}:       `byte 15: want ,"stream_seq":`,
		{`"1970-`, `"197A-`}:                   "byte 67: want an RFC 3339 time before",
		{`"leaf":"00`, `"leaf":"0x`}:           "want hexadecimal digits before",
		{`"leaf":"00`, `"leaf":"0`}:            "want 64 hexadecimal digits before",
		{`"data":"`, `"data":`}:                `want "`,
		{`"}` + "\n", `"` + "\n"}:              "want }",
		{`"}` + "\n", `"}}` + "\n"}:            "want the end of the line",
		{`"id":"a"`, `"id":""`}:                "the event: ",
		{`"id":"a"`, `"id":"\u0061"`}:          ErrNotCanonical.Error(),
		{`"data":"`, `"data_base64":"`}:        "want base64",
		{`"log_index":7`, `"log_index":07`}:    ErrNotCanonical.Error(),
		{`"id":"a","source`, `"id":"a,source`}: "want ",
	} {
		text := strings.Replace(line, change[0], change[1], 1)
		if text == line {
			t.Fatalf("%q is not in %s", change[0], line)
		}
		if _, err := ParseRecord([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q for %q: %v, want %s", change[1], change[0], err, want)
		}
	}
	for cut := range len(line) - 1 {
		if _, err := ParseRecord([]byte(line[:cut])); err == nil {
			t.Errorf("%d bytes of the line are a record", cut)
		}
	}
}

func TestProofLines(t *testing.T) {
	t.Parallel()
	leaf := LeafLine{LogIndex: 12, Leaf: tlog.RecordHash([]byte("x")), Line: LineDigest([]byte("y"))}
	line := AppendLeafLine(nil, leaf)
	if got, err := ParseLeafLine(line); err != nil || got != leaf {
		t.Fatalf("%+v, %v", got, err)
	}
	hash := AppendHashLine(nil, leaf.Leaf)
	if got, err := ParseHashLine(hash); err != nil || got != leaf.Leaf {
		t.Fatalf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "12", "x" + string(line), "0" + string(line), strings.ToUpper(string(line)), string(line) + string(line), string(line[:len(line)-2])} {
		if got, err := ParseLeafLine([]byte(bad)); err == nil {
			t.Errorf("leaf line %q is %+v", bad, got)
		}
	}
	for _, bad := range []string{"", "00", strings.ToUpper(string(hash)), "g" + string(hash[1:]), string(hash) + string(hash)} {
		if _, err := ParseHashLine([]byte(bad)); err == nil {
			t.Errorf("hash line %q is one", bad)
		}
	}
}

func TestHeaderComesBack(t *testing.T) {
	t.Parallel()
	h := Header{ID: "pack-1", Created: time.Unix(5, 7).UTC(), Scope: Scope{Kind: ScopeTurn, Tenant: "acme", Turn: "t"}, Exporter: "ctxledger 1", Logs: []string{"ctxledger/CTX/1"}}
	text, err := EncodeHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseHeader(text)
	if err != nil || got.ID != h.ID || got.Scope != h.Scope || !got.Created.Equal(h.Created) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, change := range [][2]string{{`{`, `{ `}, {`"pack_id"`, `"pack_ix"`}, {`Z"`, `+00:00"`}, {"\n", ""}, {`{"format"`, `{"more":1,"format"`}} {
		if _, err := ParseHeader([]byte(strings.Replace(string(text), change[0], change[1], 1))); err == nil {
			t.Errorf("%q for %q is taken", change[1], change[0])
		}
	}
	for _, rules := range []string{strconv.Itoa(Rules + 1), "-1"} {
		later := strings.Replace(string(text), `,"logs"`, `,"rules":`+rules+`,"logs"`, 1)
		if _, err := ParseHeader([]byte(later)); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "newer") {
			t.Errorf("rules %s: %v", rules, err)
		}
	}
	if _, err := ParseHeader([]byte(strings.Replace(string(text), "pack/1", "pack/2", 1))); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"log_index":7,"stream_seq":9,"leaf":"` + strings.Repeat("0", 64) + `","erased":"e"}`))
	f.Add(AppendRecord(nil, &Record{Withheld: true}))
	f.Add(AppendRecord(nil, &Record{Event: &schema.Event{ID: "a", Source: "s", Type: "t", Data: []byte{0xff}}}))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRecord(line)
		if err != nil {
			return
		}
		if again := AppendRecord(nil, r); !bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), again[:len(again)-1]) {
			t.Fatalf("%q is read as %q", line, again)
		}
	})
}
