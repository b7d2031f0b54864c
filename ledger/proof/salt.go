package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/schema"
)

// Salt protects guessable data in a leaf. The salt itself is not secret: packs contain it next to
// the data.
type Salt [16]byte

// Secret is the ledger secret, from which the salts are derived. The secret appears in no string
// form. The zero value is no secret.
type Secret struct {
	// bytes is a function for the reason given at [schema.Key].
	bytes func() []byte
}

// SecretSize is the length of a ledger secret, in bytes.
const SecretSize = 32

// ErrSecret means that a ledger secret has the wrong length.
var ErrSecret = errors.New("a ledger secret has 32 bytes")

// NewSecret reads a secret from r, usually [rand.Reader].
func NewSecret(r io.Reader) (Secret, error) {
	b := make([]byte, SecretSize)
	if _, err := io.ReadFull(r, b); err != nil {
		return Secret{}, fmt.Errorf("read random bytes: %w", err)
	}
	return Secret{func() []byte { return b }}, nil
}

// SecretOf returns the secret with these bytes. The error is [ErrSecret].
func SecretOf(b []byte) (Secret, error) {
	if len(b) != SecretSize {
		return Secret{}, ErrSecret
	}
	own := append([]byte(nil), b...)
	return Secret{func() []byte { return own }}, nil
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.bytes == nil }

// String returns a fixed text instead of the secret.
func (s Secret) String() string { return "a ledger secret" }

// GoString is String, so %#v prints no secret.
func (s Secret) GoString() string { return s.String() }

// LogValue is String for structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Same reports whether o is the same secret, in constant time.
func (s Secret) Same(o Secret) bool {
	return !s.IsZero() && !o.IsZero() && hmac.Equal(s.bytes(), o.bytes())
}

// A Salter computes the salts of a ledger. The Salter keeps the keys of recent sessions. Further
// events of a session therefore cost one HMAC each. Not safe for concurrent use.
type Salter struct {
	secret   Secret
	sessions map[sessionName]hash.Hash
	room     []byte
}

type sessionName struct{ tenant, session string }

// keptSessions bounds the session keys that a Salter keeps.
const keptSessions = 1024

// NewSalter returns a Salter for a secret, which must not be zero.
func NewSalter(s Secret) *Salter {
	return &Salter{secret: s, sessions: make(map[sessionName]hash.Hash)}
}

// Salt returns the salt of the event of source with this id.
func (s *Salter) Salt(tenant, session, source, id string) (salt Salt) {
	name := sessionName{tenant, session}
	mac, ok := s.sessions[name]
	if !ok {
		if len(s.sessions) >= keptSessions {
			clear(s.sessions)
		}
		key := derive(s.secret.bytes(), "tenant", tenant)
		mac = hmac.New(sha256.New, derive(key, "session", session))
		s.sessions[sessionName{strings.Clone(tenant), strings.Clone(session)}] = mac
	}
	s.room = append(append(append(s.room[:0], source...), 0), id...)
	mac.Reset()
	mac.Write(s.room)
	s.room = mac.Sum(s.room[:0])
	copy(salt[:], s.room)
	return salt
}

// Leaf returns the salt of an event and the hash of its record with this salt. The attributes are
// the result of [schema.Event.AppendAttributes].
func (s *Salter) Leaf(e *schema.Event, attributes []byte) (Salt, tlog.Hash) {
	salt := s.Salt(e.Tenant, e.SessionID, e.Source, e.ID)
	s.room = append(append(s.room[:0], salt[:]...), e.Data...)
	content := sha256.Sum256(s.room)
	s.room = append(append(append(s.room[:0], leafPrefix), attributes...), content[:]...)
	return salt, sha256.Sum256(s.room)
}

// leafPrefix is the byte that RFC 6962 puts in front of a record, as [tlog.RecordHash] does.
const leafPrefix = 0

func derive(key []byte, label, name string) []byte {
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, label)
	mac.Write([]byte{0})
	io.WriteString(mac, name)
	return mac.Sum(nil)
}
