package proof

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

func someRing(t testing.TB) Ring {
	t.Helper()
	r, err := NewRing(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sign(t testing.TB, c Checkpoint, r Ring) []byte {
	t.Helper()
	signer, err := r.Signer()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := c.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func someCheckpoint(size int64) Checkpoint {
	return Checkpoint{Origin: Origin("CTX", "5b6f7c1e-0000-4000-8000-000000000000"), Size: size, Root: tlog.RecordHash([]byte("x"))}
}

func TestCheckpointComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := Checkpoint{
			Origin: rapid.StringMatching(`[!-~é][ -~é]{0,30}`).Draw(t, "origin"),
			Size:   rapid.Int64Min(0).Draw(t, "size"),
			Root:   tlog.Hash(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "root")),
		}
		again, err := ParseCheckpoint(c.Text())
		if err != nil || again != c {
			t.Fatalf("%+v came back as %+v, %v", c, again, err)
		}
	})
}

func TestParseCheckpointRefuses(t *testing.T) {
	t.Parallel()
	good := someCheckpoint(12).Text()
	lines := strings.Split(good, "\n")
	join := func(l ...string) string { return strings.Join(l, "\n") }
	for name, text := range map[string]string{
		"nothing":             "",
		"no origin":           join("", lines[1], lines[2], ""),
		"a control character": join("a\rb", lines[1], lines[2], ""),
		"a leading zero":      join(lines[0], "012", lines[2], ""),
		"a sign":              join(lines[0], "+12", lines[2], ""),
		"a negative size":     join(lines[0], "-1", lines[2], ""),
		"a size of 65 bits":   join(lines[0], "9223372036854775808", lines[2], ""),
		"a short root":        join(lines[0], lines[1], "AAAA", ""),
		"other spare bits":    join(lines[0], lines[1], lines[2][:42]+"d=", ""),
		"an extension":        join(lines[0], lines[1], lines[2], "more", ""),
		"no end":              strings.TrimSuffix(good, "\n"),
	} {
		if c, err := ParseCheckpoint(text); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	ring := someRing(f)
	f.Add(sign(f, someCheckpoint(3), ring))
	f.Add([]byte(someCheckpoint(3).Text()))
	f.Add([]byte("a\n1\nAAAA\n\n— x AAAA\n"))
	f.Fuzz(func(t *testing.T, signed []byte) {
		if c, err := ParseCheckpoint(string(signed)); err == nil && c.Text() != string(signed) {
			t.Fatalf("%q has another form: %q", signed, c.Text())
		}
		if opened, err := Open(signed, ring.Verifiers()); err == nil && !bytes.HasPrefix(signed, []byte(opened.Text())) {
			t.Fatalf("%q was opened as %+v", signed, opened)
		}
	})
}

func TestOpenWhatWasSigned(t *testing.T) {
	t.Parallel()
	ring := someRing(t)
	c := someCheckpoint(5)
	signed := sign(t, c, ring)
	if !bytes.Equal(signed, sign(t, c, ring)) {
		t.Error("signing twice gives other bytes")
	}
	opened, err := Open(signed, ring.Verifiers())
	if err != nil || opened.Checkpoint != c || len(opened.Signers) != 1 || opened.Signers[0].Name != ring.Name {
		t.Fatalf("opened %+v, %v", opened, err)
	}
	if _, err := Open(signed, someRing(t).Verifiers()); !errors.Is(err, ErrSignature) {
		t.Errorf("a strange key opens it: %v", err)
	}
	for i := range signed {
		harmed := bytes.Clone(signed)
		harmed[i] ^= 1
		if opened, err := Open(harmed, ring.Verifiers()); err == nil {
			t.Fatalf("byte %d was changed, and it opens as %+v", i, opened)
		}
	}
	if _, err := (Checkpoint{Origin: "a\nb"}).Sign(); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("an origin of two lines is signed: %v", err)
	}
}

// TestCosign: a witness adds its signature, and the result opens with either key.
func TestCosign(t *testing.T) {
	t.Parallel()
	ring, witness := someRing(t), someRing(t)
	signer, err := witness.Signer()
	if err != nil {
		t.Fatal(err)
	}
	signed := sign(t, someCheckpoint(5), ring)
	cosigned, err := Cosign(signed, ring.Verifiers(), signer)
	if err != nil || !bytes.HasPrefix(cosigned, signed) {
		t.Fatalf("cosigned %q, %v", cosigned, err)
	}
	for _, r := range []Ring{ring, witness} {
		if opened, err := Open(cosigned, r.Verifiers()); err != nil || len(opened.Signers) != 1 || len(opened.Unknown) != 1 {
			t.Errorf("opened %+v, %v", opened, err)
		}
	}
	if _, err := Cosign(signed, witness.Verifiers(), signer); !errors.Is(err, ErrSignature) {
		t.Errorf("a witness signs what it cannot check: %v", err)
	}
}

// TestRotationKeepsVerifying: after a rotation, the old key verifies but no longer signs. The
// secret stays the same, also after writing and reading the ring.
func TestRotationKeepsVerifying(t *testing.T) {
	t.Parallel()
	first := someRing(t)
	old := sign(t, someCheckpoint(5), first)
	rotated, err := first.Rotate(time.Unix(10, 0))
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseRing(rotated.Format())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Ring{rotated, read} {
		if _, err := Open(old, r.Verifiers()); err != nil {
			t.Errorf("an old checkpoint: %v", err)
		}
		if _, err := Open(sign(t, someCheckpoint(6), r), r.Verifiers()); err != nil {
			t.Errorf("a new checkpoint: %v", err)
		}
		if !r.Secret.Same(first.Secret) || r.Name != first.Name || len(r.Keys) != 2 || !r.Keys[1].Created.Equal(time.Unix(10, 0)) {
			t.Errorf("the ring became %v", r)
		}
	}
	if _, err := Open(sign(t, someCheckpoint(6), rotated), first.Verifiers()); !errors.Is(err, ErrSignature) {
		t.Errorf("the old key opens what the new one signed: %v", err)
	}
	if private := strings.Fields(string(first.Format()))[6]; strings.Contains(string(rotated.Format()), private) {
		t.Error("the old private key is kept")
	}
	public, err := ParseVerifiers(rotated.Public())
	if err != nil || len(public) != 2 {
		t.Fatalf("%d public keys, %v", len(public), err)
	}
	if _, err := Open(old, note.VerifierList(public...)); err != nil {
		t.Error(err)
	}
}

func TestRingIsNotPrinted(t *testing.T) {
	t.Parallel()
	ring := someRing(t)
	for _, text := range []string{fmt.Sprint(ring), fmt.Sprintf("%+v %#v", ring, ring)} {
		if strings.Contains(text, "PRIVATE") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	ring := string(someRing(t).Format())
	lines := strings.SplitAfter(ring, "\n")
	for name, text := range map[string]string{
		"nothing": "", "no secret": lines[0] + lines[2], "no name": lines[1] + lines[2], "no key": lines[0] + lines[1],
		"two secrets": ring + lines[1], "a short secret": lines[0] + "secret AAAA\n" + lines[2], "a strange line": ring + "x y\n",
		"half a key": strings.TrimSpace(ring)[:len(ring)-9], "a key of no time": lines[0] + lines[1] + strings.Replace(lines[2], "1970", "x", 1),
	} {
		if _, err := ParseRing([]byte(text)); err == nil {
			t.Errorf("%s is taken for a ring", name)
		} else if strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: the error holds the key: %v", name, err)
		}
	}
	for name, text := range map[string]string{"nothing": "# none\n", "a private key": strings.Fields(lines[2])[2], "a damaged key": "x+00000000+AAAA"} {
		if _, err := ParseVerifiers([]byte(text)); err == nil {
			t.Errorf("%s is taken for public keys", name)
		} else if strings.Contains(err.Error(), "PRIVATE+KEY+") {
			t.Errorf("%s: the error holds the key", name)
		}
	}
}

// TestOriginsName: both forms of an origin name the stream and the incarnation, and nothing else does.
func TestOriginsName(t *testing.T) {
	t.Parallel()
	const id = "5b6f7c1e-0000-4000-8000-000000000000"
	for origin, want := range map[string]bool{
		Origin("CTX_3", id): true, OriginAfter("CTX_3", id, Checkpoint{Size: 7, Root: tlog.Hash{1}}): true,
		"ctxledger/" + id: false, "other/CTX_3/" + id: false, "ctxledger/CTX_3/after-7-01/more/" + id: false, "": false,
	} {
		stream, incarnation, ok := ParseOrigin(origin)
		if ok != want || ok && (stream != "CTX_3" || incarnation != id) {
			t.Errorf("%q: %q, %q, %v", origin, stream, incarnation, ok)
		}
	}
}
