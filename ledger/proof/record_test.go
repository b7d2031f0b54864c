package proof

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/schema"
)

func secretOf(t testing.TB, b byte) Secret {
	t.Helper()
	s, err := SecretOf(bytes.Repeat([]byte{b}, SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func someEvent(data string) *schema.Event {
	sequence := int64(7)
	return &schema.Event{
		ID: "e1", Source: "urn:s", Type: "t", Time: time.Unix(1, 5).UTC(), Sequence: &sequence,
		Correlation: schema.Correlation{Tenant: "acme", SessionID: "s1"}, Data: []byte(data),
	}
}

func hmacOf(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, strings.Join(parts, "\x00"))
	return mac.Sum(nil)
}

// TestSaltIsAsDocumented compares salts with the written-out formula, also when the Salter forgets
// sessions.
func TestSaltIsAsDocumented(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte{9}, SecretSize)
	salter := NewSalter(secretOf(t, 9))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 12, -1)
		tenant, session := text.Draw(t, "tenant"), text.Draw(t, "session")
		source, id := text.Draw(t, "source"), text.Draw(t, "id")
		want := hmacOf(hmacOf(hmacOf(secret, "tenant", tenant), "session", session), source, id)[:16]
		for range 2 {
			if got := salter.Salt(tenant, session, source, id); !bytes.Equal(got[:], want) {
				t.Fatalf("the salt is %x, not %x", got, want)
			}
		}
	})
	before := salter.Salt("a", "b", "c", "d")
	for n := range 3 * keptSessions {
		salter.Salt("a", fmt.Sprint(n), "c", "d")
	}
	if len(salter.sessions) > keptSessions || salter.Salt("a", "b", "c", "d") != before {
		t.Error("the keys of sessions are kept without end, or change")
	}
}

// TestLeafIsAsDocumented computes a leaf only from the documented format.
func TestLeafIsAsDocumented(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := someEvent(rapid.String().Draw(t, "data"))
		e.Subject = rapid.String().Draw(t, "subject")
		e.Extensions = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,8}x`), rapid.String(), 0, 3).Draw(t, "extensions")
		salt := Salt(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "salt"))
		var record []byte
		for _, a := range e.Attributes() {
			for _, s := range []string{a.Name, a.Value} {
				record = append(binary.AppendUvarint(record, uint64(len(s))), s...)
			}
		}
		content := sha256.Sum256(append(salt[:], e.Data...))
		record = append(record, content[:]...)
		if got := Record(e, salt); !bytes.Equal(got, record) {
			t.Fatalf("the record is %x, not %x", got, record)
		}
		if Leaf(e, salt) != tlog.Hash(sha256.Sum256(append([]byte{0}, record...))) {
			t.Fatal("the leaf is not the hash of the record")
		}
	})
}

// TestLeafTellsApart: any change to attribute, data or salt gives another leaf. The mode of the
// message makes no difference.
func TestLeafTellsApart(t *testing.T) {
	t.Parallel()
	leaf := Leaf(someEvent("{}"), Salt{1})
	for name, other := range map[string]tlog.Hash{
		"data":        Leaf(someEvent("{ }"), Salt{1}),
		"white space": Leaf(someEvent("{} "), Salt{1}),
		"salt":        Leaf(someEvent("{}"), Salt{2}),
		"attribute":   func() tlog.Hash { e := someEvent("{}"); e.Subject = "x"; return Leaf(e, Salt{1}) }(),
		"time":        func() tlog.Hash { e := someEvent("{}"); e.Time = e.Time.Add(1); return Leaf(e, Salt{1}) }(),
	} {
		if other == leaf {
			t.Errorf("another %s gives the same leaf", name)
		}
	}
	e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "i"}, "e1", "urn:s", time.Unix(1, 5), schema.Correlation{Tenant: "acme", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	structured, err := e.Structured()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []schema.Message{e.Binary(), structured} {
		parsed, err := schema.ParseMessage(m.Header, m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if Leaf(parsed, Salt{1}) != Leaf(e, Salt{1}) {
			t.Error("the mode of the message changes the leaf")
		}
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	s := secretOf(t, 'K')
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %s %x %q", s, s, s, s, s), fmt.Sprintf("%+v", struct{ s Secret }{s}), s.LogValue().String()} {
		if strings.Contains(text, "KKKK") || strings.Contains(text, "4b4b4b4b") {
			t.Errorf("the secret is printed: %s", text)
		}
	}
	if !s.Same(secretOf(t, 'K')) || s.Same(secretOf(t, 'L')) || s.Same(Secret{}) {
		t.Error("Same does not tell secrets apart")
	}
	if _, err := SecretOf([]byte("short")); err == nil {
		t.Error("a short secret is taken")
	}
}

// TestSalterMakesTheLeafOfTheRecord: a Salter gives the same leaves as Leaf.
func TestSalterMakesTheLeafOfTheRecord(t *testing.T) {
	t.Parallel()
	salter := NewSalter(secretOf(t, 3))
	for _, data := range []string{"", "{}", strings.Repeat("x", 3000), "y"} {
		e := someEvent(data)
		want := salter.Salt(e.Tenant, e.SessionID, e.Source, e.ID)
		if salt, leaf := salter.Leaf(e, e.AppendAttributes(nil)); salt != want || leaf != Leaf(e, want) {
			t.Errorf("of %d bytes of data it makes another leaf", len(data))
		}
	}
}

// BenchmarkLeaf computes the salt, the leaf and the tree for an event with 1 KB of data.
func BenchmarkLeaf(b *testing.B) {
	salter := NewSalter(secretOf(b, 1))
	e := someEvent(strings.Repeat("x", 1024))
	e.Correlation = schema.Correlation{Tenant: "acme", Agent: "a", SessionID: "s1", ThreadID: "t1", TurnID: "u1", RunID: "r1"}
	var tree Tree
	var room []byte
	b.ReportAllocs()
	for b.Loop() {
		room = e.AppendAttributes(room[:0])
		_, leaf := salter.Leaf(e, room)
		tree.Append(leaf, nil)
	}
}
