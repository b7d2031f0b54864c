package proof

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var (
	// ErrCheckpoint means that a text is not a checkpoint.
	ErrCheckpoint = errors.New("not a checkpoint")
	// ErrSignature means that no known key has signed a checkpoint. The signature of a known key on
	// another text also gives ErrSignature. Look for the public key of the ledger that made the
	// checkpoint. If the key is the right one, the text was changed.
	ErrSignature = errors.New("not signed by a known key")
)

// Checkpoint is the head of a log: the root of its first Size leaves.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Origin names the log of one incarnation of a stream.
func Origin(stream, incarnation string) string {
	return "ctxledger/" + stream + "/" + incarnation
}

// OriginAfter names the log that begins after a log has lost leaves of a signed head. The name has the
// size of that head and the beginning of its root.
func OriginAfter(stream, incarnation string, lost Checkpoint) string {
	return fmt.Sprintf("ctxledger/%s/after-%d-%x/%s", stream, lost.Size, lost.Root[:8], incarnation)
}

// ParseOrigin returns the stream and the incarnation of a log.
func ParseOrigin(origin string) (stream, incarnation string, ok bool) {
	parts := strings.Split(origin, "/")
	if len(parts) < 3 || len(parts) > 4 || parts[0] != "ctxledger" {
		return "", "", false
	}
	return parts[1], parts[len(parts)-1], true
}

// Tree returns size and root in the form of package tlog.
func (c Checkpoint) Tree() tlog.Tree { return tlog.Tree{N: c.Size, Hash: c.Root} }

// Text returns the text that is signed.
func (c Checkpoint) Text() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(c.Root[:]) + "\n"
}

// ParseCheckpoint reads the texts that [Checkpoint.Text] writes. Each checkpoint has exactly one
// text. ParseCheckpoint refuses all other texts, also texts with extension lines. The error is
// [ErrCheckpoint] and names the wrong line.
func ParseCheckpoint(text string) (Checkpoint, error) {
	bad := func(line string) (Checkpoint, error) {
		return Checkpoint{}, fmt.Errorf("%w: %s", ErrCheckpoint, line)
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return bad("want three lines: origin, size, root")
	}
	c := Checkpoint{Origin: lines[0]}
	if c.Origin == "" || !utf8.ValidString(c.Origin) || strings.ContainsFunc(c.Origin, unicode.IsControl) {
		return bad("line 1: want the origin of the log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || lines[1] != strconv.FormatInt(size, 10) {
		return bad("line 2: want the size of the log in decimal")
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize || lines[2] != base64.StdEncoding.EncodeToString(root) {
		return bad("line 3: want the root, 32 bytes in base64")
	}
	c.Size, c.Root = size, tlog.Hash(root)
	return c, nil
}

// Sign returns the checkpoint as a signed note. Ed25519 signatures are
// deterministic: the same checkpoint and keys give the same bytes.
func (c Checkpoint) Sign(signers ...note.Signer) ([]byte, error) {
	text := c.Text()
	if _, err := ParseCheckpoint(text); err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	return signed, nil
}

// Cosign adds a signature to a signed checkpoint. At least one key in known must have signed the
// checkpoint. Cosign keeps all other signatures, also the signatures of unknown keys. Errors are
// the errors of [Open].
func Cosign(signed []byte, known note.Verifiers, signer note.Signer) ([]byte, error) {
	if _, err := Open(signed, known); err != nil {
		return nil, err
	}
	n, err := note.Open(signed, known)
	if err != nil {
		return nil, fmt.Errorf("cosign checkpoint: %w", err)
	}
	cosigned, err := note.Sign(n, signer)
	if err != nil {
		return nil, fmt.Errorf("cosign checkpoint: %w", err)
	}
	return cosigned, nil
}

// Opened is a checkpoint with verified signatures.
type Opened struct {
	Checkpoint
	Signers []Signature // of known keys, in the order of the note; at least one
	Unknown []Signature // of other keys, not verified
}

// Signature names a key that signed.
type Signature struct {
	Name string `json:"name"`
	Hash uint32 `json:"hash"` // first bytes of a hash of name and public key
}

// Open verifies a signed checkpoint: at least one known key has signed it, and no signature of a
// known key is wrong. Errors: [ErrSignature], [ErrCheckpoint].
func Open(signed []byte, known note.Verifiers) (Opened, error) {
	n, err := note.Open(signed, known)
	var unverified *note.UnverifiedNoteError
	var invalid *note.InvalidSignatureError
	switch {
	case errors.As(err, &unverified):
		return Opened{}, fmt.Errorf("%w: it is signed by %s", ErrSignature, names(unverified.Note.UnverifiedSigs))
	case errors.As(err, &invalid):
		return Opened{}, fmt.Errorf("%w: the signature of %s does not match the text", ErrSignature, strconv.Quote(invalid.Name))
	case err != nil:
		return Opened{}, fmt.Errorf("%w: want a signed note", ErrCheckpoint)
	}
	for _, s := range append(n.Sigs, n.UnverifiedSigs...) {
		if _, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil {
			return Opened{}, fmt.Errorf("%w: the signature of %q is not valid base64", ErrCheckpoint, s.Name)
		}
	}
	c, err := ParseCheckpoint(n.Text)
	if err != nil {
		return Opened{}, err
	}
	return Opened{c, signatures(n.Sigs), signatures(n.UnverifiedSigs)}, nil
}

func signatures(list []note.Signature) (out []Signature) {
	for _, s := range list {
		out = append(out, Signature{s.Name, s.Hash})
	}
	return out
}

func names(list []note.Signature) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q (%08x)", s.Name, s.Hash))
	}
	return strings.Join(out, ", ")
}
