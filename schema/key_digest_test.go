package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
)

var keyTime = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// knownKey has the secret 00 01 … 1f.
func knownKey(t testing.TB) (Key, []byte) {
	t.Helper()
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(i)
	}
	k, err := NewKey(bytes.NewReader(secret), keyTime)
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}

func TestKeyDigest(t *testing.T) {
	t.Parallel()
	k, _ := knownKey(t)
	// Python: hmac.new(bytes(range(32)), b"hello", "sha256").hexdigest()
	const want = "hmac-sha256:k08f74bb63d:53c40272a70c15ca4ee0af4df1f155fd6c41e00ce2307d8987ecd4bb36a7e990"
	if got := k.Digest([]byte("hello")); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if (Key{}).Digest([]byte("hello")) != "" {
		t.Error("the zero key made a digest")
	}
	if _, err := NewKey(strings.NewReader("short"), keyTime); err == nil {
		t.Error("a key of 5 bytes was made")
	}
}

func TestKeyPrintsNoSecret(t *testing.T) {
	t.Parallel()
	k, secret := knownKey(t)
	ring := KeyRing{"acme", []Key{k}}
	type hidden struct {
		k    Key
		ring KeyRing
		p    *Key
	}
	type open struct {
		K    Key
		Ring *KeyRing
	}
	values := map[string]any{
		"key": k, "pointer": &k, "ring": ring, "ring pointer": &ring, "slice": []Key{k}, "map": map[string]Key{"k": k},
		"unexported": hidden{k, ring, &k}, "unexported pointer": &hidden{k, ring, &k}, "exported": open{k, &ring},
	}
	var decimal []string
	for _, b := range secret {
		decimal = append(decimal, fmt.Sprint(b))
	}
	marks := []string{
		string(secret[8:16]), hex.EncodeToString(secret[8:16]), strings.ToUpper(hex.EncodeToString(secret[8:16])),
		base64.StdEncoding.EncodeToString(secret)[:20], strings.Join(decimal[8:12], " "), strings.Join(decimal[8:12], ", "),
		"0x8, 0x9, 0xa", "8 9 a b", "08 09 0a", "10 11 12 13",
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var printed []string
			for _, verb := range []string{"v", "+v", "#v", "s", "+s", "x", "X", "#x", "% x", "d", "+d", "q", "T", "t", "o", "b", "c", "U", "e"} {
				printed = append(printed, fmt.Sprintf("%"+verb, value))
			}
			printed = append(printed, fmt.Sprint(value), fmt.Sprintln(value))
			if text, err := json.Marshal(value); err == nil {
				printed = append(printed, string(text))
			}
			if text, err := stdjson.Marshal(value); err == nil {
				printed = append(printed, string(text))
			}
			var log bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Info("m", "value", value)
			slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "value", value)
			printed = append(printed, log.String())
			for _, text := range printed {
				for _, mark := range marks {
					if strings.Contains(text, mark) {
						t.Errorf("the secret shows in %q", text)
					}
				}
			}
		})
	}
}

func TestKeyRingRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ring := KeyRing{Tenant: rapid.String().Draw(t, "tenant")}
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			var err error
			if ring, err = ring.Rotate(keyTime); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ParseKeyRing(ring.Format())
		if err != nil {
			t.Fatal(err)
		}
		if got.Tenant != ring.Tenant || len(got.Keys) != len(ring.Keys) || got.Current().Digest([]byte("x")) != ring.Current().Digest([]byte("x")) {
			t.Fatalf("got %v, want %v", got, ring)
		}
	})
}

func TestKeyRingRotateKeepsTheOldRing(t *testing.T) {
	t.Parallel()
	first, err := KeyRing{Tenant: "acme"}.Rotate(keyTime)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := first.Rotate(keyTime)
	third, _ := first.Rotate(keyTime)
	if second.Keys[1].ID == third.Keys[1].ID || len(first.Keys) != 1 || !(KeyRing{}).Current().IsZero() {
		t.Error("two rotations of one ring share their keys")
	}
}

func TestParseKeyRingErrors(t *testing.T) {
	t.Parallel()
	const secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	for name, text := range map[string]string{
		"tenant not escaped": "tenant a.b\n",
		"two tenants":        "tenant a\ntenant b\n",
		"short secret":       "key k1 2026-03-02T09:00:00Z " + secret[:20] + "\n",
		"no base64":          "key k1 2026-03-02T09:00:00Z !!" + secret[2:] + "\n",
		"bad time":           "key k1 yesterday " + secret + "\n",
		"time out of range":  "key k1 9999-12-31T23:59:59-23:59 " + secret + "\n",
		"same id":            "key k1 2026-03-02T09:00:00Z " + secret + "\nkey k1 2026-03-02T09:00:00Z " + secret + "\n",
		"unknown word":       "secret " + secret + "\n",
		"too many fields":    "key k1 2026-03-02T09:00:00Z " + secret + " " + secret + "\n",
		"a line of 1 MB":     "key " + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ring, err := ParseKeyRing([]byte(text))
			if err == nil || len(ring.Keys) > 0 {
				t.Fatalf("%v, %v", ring, err)
			}
			if strings.Contains(err.Error(), secret[4:12]) {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
	if ring, err := ParseKeyRing([]byte("# a comment\n\n tenant %\r\n")); err != nil || ring.Tenant != "" {
		t.Errorf("%v, %v", ring, err)
	}
}

// TestOffsetID checks that a second run over a journal gives the same ids, and that different
// records of its streams have different ids.
func TestOffsetID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	seen := make(map[string]string)
	for _, stream := range []string{"run-1", "run-1:1", "run", "", "run-1:"} {
		for _, offset := range []uint64{0, 1, 11, math.MaxUint64} {
			id := OffsetID(stream, offset)
			record := fmt.Sprintf("%q at %d", stream, offset)
			if other, taken := seen[id]; taken {
				t.Errorf("%s and %s have the id %q", record, other, id)
			}
			seen[id] = record
			first, err := NewEvent(&SurfaceCreated{Surface: Surface{SurfaceID: "s"}}, id, "urn:journal", at, Correlation{SessionID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			again, _ := NewEvent(&SurfaceCreated{Surface: Surface{SurfaceID: "s"}}, OffsetID(stream, offset), "urn:journal", at, Correlation{SessionID: "s"})
			if first.MessageID() != again.MessageID() || first.Digest() != again.Digest() {
				t.Errorf("%s is another event when it is read again", record)
			}
		}
	}
}

// TestEqualityKey: a rotation keeps the key, another tenant has another, and it is no commitment key.
func TestEqualityKey(t *testing.T) {
	t.Parallel()
	ring, err := KeyRing{Tenant: "acme"}.Rotate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := ring.Rotate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := KeyRing{Tenant: "acme"}.Rotate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("x"))
	digest := ring.Equality().EqualityDigest(sum)
	if digest == "" || rotated.Equality().EqualityDigest(sum) != digest {
		t.Errorf("a rotation changed %s to %s", digest, rotated.Equality().EqualityDigest(sum))
	}
	if other.Equality().ID == ring.Equality().ID || ring.Equality().ID == ring.Current().ID || ring.Current().Digest(sum[:]) == digest {
		t.Error("the key is another tenant's, or the commitment key")
	}
	back, err := ParseKeyRing(rotated.Format())
	if err != nil || back.Equality().EqualityDigest(sum) != digest {
		t.Errorf("the ring came back with another key: %v", err)
	}
	if (KeyRing{}).Equality().EqualityDigest(sum) != "" {
		t.Error("a ring without keys has an equality key")
	}
}

// TestKnown holds the rules for fidelity, coverage and bases of assemblies.
func TestKnown(t *testing.T) {
	t.Parallel()
	block := `"ordered_blocks":[{"block":"b"}]`
	assembly := func(members string) *Event {
		return &Event{ID: "i", Source: "urn:x", Type: TypeAssemblyCreated.CloudEventsType(), Time: schematest.EventTime,
			Data: []byte(`{"event_type":"context.assembly.created","assembly_id":"a","target":"model",` + block + members + `}`)}
	}
	for members, want := range map[string]string{
		``:                       "",
		`,"fidelity":"wire"`:     "",
		`,"fidelity":"guessed"`:  "range at /data/fidelity",
		`,"fidelity":7`:          "type at /data/fidelity",
		`,"coverage":"complete"`: "",
		`,"coverage":"mostly"`:   "range at /data/coverage",
		`,"coverage":"partial"`:  "required at /data/coverage_reasons",
		`,"coverage":"partial","coverage_reasons":[]`:                 "required at /data/coverage_reasons",
		`,"coverage":"partial","coverage_reasons":[""]`:               "required at /data/coverage_reasons",
		`,"coverage":"partial","coverage_reasons":["no one saw it"]`:  "",
		`,"coverage":"complete","coverage_reasons":["slice_missing"]`: "range at /data/coverage_reasons",
		`,"coverage_reasons":["slice_missing"]`:                       "range at /data/coverage_reasons",
		`,"base_assembly_id":"b","keep":0`:                            "",
		`,"base_assembly_id":"b","keep":140`:                          "",
		`,"base_assembly_id":"b"`:                                     "required at /data/keep",
		`,"keep":3`:                                                   "required at /data/base_assembly_id",
		`,"base_assembly_id":"b","keep":-1`:                           "range at /data/keep",
		`,"base_assembly_id":"b","keep":1.5`:                          "type at /data/keep",
		`,"base_assembly_id":"a","keep":1`:                            "own_source at /data/base_assembly_id",
		`,"base_assembly_id":" ","keep":1`:                            "required at /data/base_assembly_id",
	} {
		_, found := Validate(assembly(members))
		got := ""
		if len(found) == 1 {
			got, _, _ = strings.Cut(found[0].Error(), ":")
		}
		if got != want || len(found) > 1 {
			t.Errorf("%s: %v, want %q", members, found, want)
		}
	}
	if _, found := ValidateRecorded(assembly(`,"keep":3,"fidelity":"guessed"`)); len(found) > 0 {
		t.Errorf("a record from before the rules: %v", found)
	}
	for i, f := range fidelities {
		if f.Rank() != i || Fidelity("").Rank() <= i {
			t.Errorf("%s has rank %d", f, f.Rank())
		}
	}
}
