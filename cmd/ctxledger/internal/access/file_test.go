package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// aged makes a File look for a change at once.
func aged(f *File) *File {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked = time.Time{}
	return f
}

// TestTokensAreReadAgain: new, revoked, broken and missing files, without a restart.
func TestTokensAreReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	tokens := r.guard.config.Tokens
	ask := func(token string) int {
		aged(tokens)
		return r.ask(t, http.MethodGet, "/", "Authorization", "Bearer "+token).Code
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range r.tokens {
		if strings.Contains(string(text), token) {
			t.Errorf("the file has the token of %s", name)
		}
	}
	if info, err := os.Stat(r.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v: %v", info.Mode(), err)
	}
	added, err := Create(r.file, Identity{Name: "new", Tenant: "acme", Roles: []Role{Read}})
	if err != nil || ask(added) != http.StatusOK {
		t.Errorf("a new token is not valid: %v", err)
	}
	old := tokens.current()[0]
	if err := Revoke(r.file, "reader"); err != nil || ask(r.tokens["reader"]) != http.StatusUnauthorized || tokens.Has(old) {
		t.Errorf("a revoked token is valid: %v", err)
	}
	again, err := Create(r.file, Identity{Name: "reader", Tenant: "acme", Roles: []Role{Read}})
	if err != nil || ask(again) != http.StatusOK || tokens.Has(old) {
		t.Errorf("the old token of a name is valid again: %v", err)
	}
	if err := os.WriteFile(r.file, []byte("nonsense\n"), 0o600); err != nil || ask(added) != http.StatusOK {
		t.Errorf("an error in the file ends the good tokens: %v", err)
	}
	if err := os.Remove(r.file); err != nil || ask(added) != http.StatusUnauthorized {
		t.Errorf("tokens of a file that is gone are valid: %v", err)
	}
}

// TestMalformedTokenFiles: each error names its line, and no error has a digest.
func TestMalformedTokenFiles(t *testing.T) {
	t.Parallel()
	good := Identity{Name: "a", Tenant: "acme", Roles: []Role{Read}, digest: sum("x")}.line()
	hash := strings.TrimSpace(good[strings.Index(good, "sha256:"):])
	for _, text := range []string{
		"a acme read", "a acme read " + hash + " more", "a acme write " + hash, "a acme read,read " + hash, "a acme , " + hash, "a %zz read " + hash,
		"a acme read " + hash[7:], "a acme read " + hash[:40], good + good, good + strings.Replace(good, "a ", "b ", 1), "../a acme read " + hash, "a\x00 acme read " + hash,
	} {
		known, err := parse("# tokens\n\n" + text)
		if err == nil || len(known) > 0 || !strings.HasPrefix(err.Error(), "line ") || strings.Contains(err.Error(), hash[7:20]) {
			t.Errorf("%q: %v %v", text, known, err)
		}
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a file that others can change: %v", err)
	}
	for _, missing := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := Open(missing, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s opens", missing)
		}
	}
}

// TestLinesAreReadBack: each valid identity is read from its line as it was.
func TestLinesAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		i := Identity{
			Name: rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}`).Draw(t, "name"), Tenant: rapid.StringN(1, 20, -1).Draw(t, "tenant"),
			Roles: rapid.SliceOfNDistinct(rapid.SampledFrom(Roles), 1, 3, rapid.ID).Draw(t, "roles"), digest: sum(rapid.String().Draw(t, "token")),
		}
		known, err := parse(i.line())
		if err != nil || len(known) != 1 || known[0].line() != i.line() || known[0].Tenant != i.Tenant {
			t.Fatalf("%q is read as %v: %v", i.line(), known, err)
		}
	})
}

// TestCreateAtOnce: no token is lost when several are made at once.
func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens")
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			if _, err := Create(path, Identity{Name: name, Tenant: "acme", Roles: Roles}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if known, err := List(path); err != nil || len(known) != 6 {
		t.Errorf("%d tokens: %v", len(known), err)
	}
}

// TestCertificatesAreReadAgain: a new certificate counts, and a broken one does not.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(serial int64) {
		t.Helper()
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"ledger.example"}}
		signed, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: der}} {
			if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1)
	c, err := OpenCertificate(certificate, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		c.looked = time.Time{}
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("the certificate is %d", got)
	}
	if err := os.WriteFile(certificate, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 1 {
		t.Errorf("with a broken file, the certificate is %d", got)
	}
	write(2)
	if got := serial(); got != 2 {
		t.Errorf("after a change, the certificate is %d", got)
	}
}
