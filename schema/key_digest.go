package schema

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/schema/internal/form"
)

// Key is a tenant's secret for keyed digests. A bare hash of content with low entropy would
// reveal the content. A keyed digest does not. No string form of the key contains the secret.
type Key struct {
	ID      string // public; named in every digest
	Created time.Time
	// secret is a function because fmt never calls functions. fmt ignores the String methods of
	// nested unexported fields, and it follows pointers for some verbs.
	secret func() []byte
}

// NewKey makes a key from 32 bytes of r, usually [rand.Reader].
func NewKey(r io.Reader, now time.Time) (Key, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(r, secret); err != nil {
		return Key{}, fmt.Errorf("read random bytes: %w", err)
	}
	sum := sha256.Sum256(append([]byte("ctxledger key id\x00"), secret...))
	return Key{"k" + hex.EncodeToString(sum[:5]), now.UTC().Truncate(time.Second), func() []byte { return secret }}, nil
}

// Digest returns the keyed digest of content: "hmac-sha256:<key id>:<hex>". The zero Key returns
// "".
func (k Key) Digest(content []byte) string {
	if k.secret == nil {
		return ""
	}
	mac := hmac.New(sha256.New, k.secret())
	mac.Write(content)
	return keyedDigest + k.ID + ":" + hex.EncodeToString(mac.Sum(nil))
}

// Derive returns 32 bytes for the key and the purpose, for use as another key. The bytes reveal
// neither the key nor the bytes of another purpose. The zero Key returns nil.
func (k Key) Derive(purpose string) []byte {
	if k.secret == nil {
		return nil
	}
	mac := hmac.New(sha256.New, k.secret())
	mac.Write([]byte("ctxledger derive\x00" + purpose))
	return mac.Sum(nil)
}

// String returns the id. Secrets are never printed.
func (k Key) String() string { return "key " + k.ID }

// GoString returns the id. %#v therefore prints no secret.
func (k Key) GoString() string { return k.String() }

// LogValue returns the id for structured logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.ID) }

// IsZero reports whether k holds no key.
func (k Key) IsZero() bool { return k.ID == "" }

// KeyRing is a tenant's keys, oldest first. The last key makes new digests. The other keys are
// kept because old digests name them.
type KeyRing struct {
	Tenant string
	Keys   []Key
}

// Current returns the key for new digests, or the zero Key.
func (r KeyRing) Current() Key {
	if len(r.Keys) == 0 {
		return Key{}
	}
	return r.Keys[len(r.Keys)-1]
}

// Rotate returns the ring with a new current key.
func (r KeyRing) Rotate(now time.Time) (KeyRing, error) {
	key, err := NewKey(rand.Reader, now)
	if err != nil {
		return r, err
	}
	return KeyRing{r.Tenant, append(r.Keys[:len(r.Keys):len(r.Keys)], key)}, nil
}

// Format writes the ring as text: a line "tenant <name>", then one line per key with id, creation
// time and secret. The result is secret.
func (r KeyRing) Format() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tenant %s\n", escapeToken(r.Tenant))
	for _, k := range r.Keys {
		if k.secret == nil {
			continue
		}
		fmt.Fprintf(&b, "key %s %s %s\n", k.ID, k.Created.Format(time.RFC3339), base64.StdEncoding.EncodeToString(k.secret()))
	}
	return b.Bytes()
}

// ParseKeyRing reads the text of [KeyRing.Format]. Errors name the line and never its content.
func ParseKeyRing(text []byte) (KeyRing, error) {
	var ring KeyRing
	var named bool
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "tenant" && len(fields) == 2:
			tenant, ok := unescapeToken(fields[1])
			if !ok {
				return KeyRing{}, fmt.Errorf("key ring line %d: the tenant is not escaped as %%XX", n)
			}
			if named {
				return KeyRing{}, fmt.Errorf("key ring line %d: a second tenant; keep each ring in its own file", n)
			}
			ring.Tenant, named = tenant, true
		case fields[0] == "key" && len(fields) == 4:
			key, err := parseKey(fields[1], fields[2], fields[3])
			if err != nil {
				return KeyRing{}, fmt.Errorf("key ring line %d: %w", n, err)
			}
			if slices.ContainsFunc(ring.Keys, func(k Key) bool { return k.ID == key.ID }) {
				return KeyRing{}, fmt.Errorf("key ring line %d: a second key with the same id; remove one of the two", n)
			}
			ring.Keys = append(ring.Keys, key)
		default:
			return KeyRing{}, fmt.Errorf("key ring line %d: want tenant <name> or key <id> <time> <secret>", n)
		}
	}
	if err := lines.Err(); err != nil {
		return KeyRing{}, fmt.Errorf("read key ring: %w", err)
	}
	return ring, nil
}

func parseKey(id, created, secret string) (Key, error) {
	at, err := time.Parse(time.RFC3339, created)
	bytes, err2 := base64.StdEncoding.DecodeString(secret)
	if err != nil || err2 != nil || len(bytes) != 32 || !validTime(at) {
		return Key{}, errors.New("want key <id> <RFC 3339 time> <32 bytes in base64>")
	}
	return Key{id, at.UTC().Truncate(time.Second), func() []byte { return bytes }}, nil
}

// EqualityDigest returns the keyed digest of the sum of a block, see package canonical. The key is
// [KeyRing.Equality]. Equal blocks of a tenant have equal digests, in all tellings of a call. The
// zero Key returns "".
func (k Key) EqualityDigest(sum [sha256.Size]byte) string { return k.Digest(sum[:]) }

// Equality returns the tenant's key for [Key.EqualityDigest]. It follows from the ring's oldest key,
// so [KeyRing.Rotate] does not change it. The zero ring returns the zero Key.
func (r KeyRing) Equality() Key {
	if len(r.Keys) == 0 {
		return Key{}
	}
	oldest := r.Keys[0]
	secret := oldest.Derive("equality of blocks")
	if secret == nil {
		return Key{}
	}
	id := sha256.Sum256(append([]byte("ctxledger equality key id\x00"), secret...))
	return Key{"e" + hex.EncodeToString(id[:5]), oldest.Created, func() []byte { return secret }}
}

// keyedDigest begins each digest that [Key.Digest] makes.
const keyedDigest = "hmac-sha256:"

// CheckDigests adds the violations of digests that name the algorithm of [Key.Digest] and do not have
// its form. A ledger has this rule from a position of its stream on, by ledger.KnownRules. Digests of
// other algorithms keep the form that their producer gave them. A place with a violation gets no
// second one. The fact is nil for an unknown type.
func CheckDigests(e *Event, fact Fact, found Violations) Violations {
	if fact == nil || !mayHaveMalformedDigest(e.Data) {
		return found
	}
	for _, v := range malformedDigests(reflect.ValueOf(fact).Elem(), "/data") {
		if !slices.ContainsFunc(found, func(o *Violation) bool { return o.Pointer == v.Pointer }) {
			found = append(found, v)
		}
	}
	return found
}

// mayHaveMalformedDigest is a quick test: each text that begins like a keyed digest has its form, and
// no text is escaped.
func mayHaveMalformedDigest(data []byte) bool {
	if bytes.Contains(data, []byte(`\u`)) {
		return true
	}
	for {
		at := bytes.Index(data, []byte(keyedDigest))
		if at < 0 {
			return false
		}
		data = data[at:]
		end := bytes.IndexByte(data, '"')
		if end < 0 || !isKeyedDigest(string(data[:end])) {
			return true
		}
		data = data[end:]
	}
}

// isKeyedDigest reports whether a text has the form that [Key.Digest] gives: the algorithm, the id of
// the key, and 64 lower-case hexadecimal digits.
func isKeyedDigest(text string) bool {
	key, sum, ok := strings.Cut(strings.TrimPrefix(text, keyedDigest), ":")
	for i := range len(key) {
		if c := key[i]; !plainTokenByte(c) && c != '.' {
			return false
		}
	}
	return ok && key != "" && form.LowerHex(sum, 64)
}

// malformedDigests finds the members of v that hold a malformed keyed digest.
func malformedDigests(v reflect.Value, path string) (found Violations) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[Common]().PkgPath() {
			return nil
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case !f.IsExported():
			case f.Anonymous:
				found = append(found, malformedDigests(v.Field(i), path)...)
			case holdsDigest(f):
				found = append(found, malformedIn(v.Field(i), path+"/"+jsonName(f))...)
			case f.Type.Kind() != reflect.String && f.Type.Kind() != reflect.Map:
				found = append(found, malformedDigests(v.Field(i), path+"/"+jsonName(f))...)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return malformedDigests(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, malformedDigests(v.Index(i), path+"/"+strconv.Itoa(i))...)
		}
	}
	return found
}

func holdsDigest(f reflect.StructField) bool {
	name := jsonName(f)
	return name == "digests" || strings.HasSuffix(name, "digest")
}

// malformedIn checks a digest, or each of a list.
func malformedIn(v reflect.Value, at string) (found Violations) {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			found = append(found, malformedIn(v.Index(i), at+"/"+strconv.Itoa(i))...)
		}
		return found
	}
	if v.Kind() == reflect.String && strings.HasPrefix(v.String(), keyedDigest) && !isKeyedDigest(v.String()) {
		found = Violations{{CodeRange, at, quote(v.String()), "send hmac-sha256:<key id>:<64 lower-case hexadecimal digits>, or leave it out"}}
	}
	return found
}
