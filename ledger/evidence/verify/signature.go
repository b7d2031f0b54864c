package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
)

// checkSignature reads the attestation, the manifest's digest and the header.
func (v *verifier) checkSignature() {
	attestation := v.attestation()
	if manifest, err := v.pack.ReadFile(pack.ManifestFile); err != nil {
		v.unreadable(pack.ManifestFile, 0, err)
	} else if attestation != nil {
		v.trusted = attestation.Digest() == sha256.Sum256(manifest)
		if !v.trusted {
			v.found.faultf(Signature, pack.ManifestFile, 0, "is not the signed manifest")
		}
	}
	text, err := v.pack.ReadFile(pack.HeaderFile)
	if err != nil {
		v.unreadable(pack.HeaderFile, 0, err)
	}
	if attestation != nil {
		v.header, v.known = attestation.Statement.Predicate.Header, true
		v.signers = attestation.KeyIDs
		for _, id := range attestation.Unknown {
			v.found.faultf(Signature, pack.AttestationFile, 0, "has a further signature, by the unknown key %q: give the key with --key, or remove the signature", id)
		}
		if signed, err2 := pack.EncodeHeader(v.header); err == nil && (err2 != nil || !bytes.Equal(signed, text)) {
			v.found.faultf(Signature, pack.HeaderFile, 1, "is not the signed header")
		}
	}
	if err != nil {
		return
	}
	h, err := pack.ParseHeader(text)
	switch {
	case err != nil:
		v.found.faultf(Format, pack.HeaderFile, 1, "%v", err)
		v.known = v.known && !errors.Is(err, pack.ErrFormat)
	case !v.known:
		v.header, v.known = h, true
	}
}

// attestation returns the attestation if a trusted key signed it, or nil.
func (v *verifier) attestation() *pack.Attestation {
	text, err := v.pack.ReadFile(pack.AttestationFile)
	if err != nil {
		v.unreadable(pack.AttestationFile, 0, err)
		v.found.faultf(Signature, pack.AttestationFile, 0, "the pack is not signed")
		return nil
	}
	a, err := pack.ParseAttestation(text, v.options.Keys)
	if err != nil {
		v.found.faultf(Signature, pack.AttestationFile, 0, "%v", err)
		return nil
	}
	return a
}

// head is the signed head of one log of the pack.
type head struct {
	proof.Checkpoint
	signed  bool
	records int64
}

func (h *head) log() Log {
	return Log{h.Origin, h.Size, hex.EncodeToString(h.Root[:]), h.records}
}

// openHeads reads the checkpoints of the logs in the header.
func (v *verifier) openHeads() {
	v.heads = make([]head, len(v.header.Logs))
	for i, origin := range v.header.Logs {
		path := pack.CheckpointFile(i + 1)
		text, err := v.pack.ReadFile(path)
		if err != nil {
			v.unreadable(path, 0, err)
			continue
		}
		opened, err := proof.Open(text, verifiers(v.options.Keys))
		switch {
		case err != nil:
			v.found.faultf(Signature, path, 0, "%v", err)
		case opened.Origin != origin:
			v.found.faultf(Signature, path, 1, "is the head of the log %q, but the header names %q", opened.Origin, origin)
		default:
			v.heads[i].Checkpoint, v.heads[i].signed = opened.Checkpoint, true
			for _, s := range opened.Unknown {
				v.found.note(Signature, "%s has a further signature, not verified, by the unknown key %q", path, pack.KeyID(s.Name, s.Hash))
			}
		}
	}
	of := newConsistency(v)
	of.heads(v.heads, v.options.Witnessed)
	v.found.settle(Signature, Passed, "manifest signed by %s; signed heads of logs: %d", strings.Join(v.signers, ", "), len(v.heads))
}

// ReadHead reads a head that one of the keys signed, for [Options.Witnessed]. Errors:
// [proof.ErrSignature], [proof.ErrCheckpoint].
func ReadHead(text []byte, keys []note.Verifier) (proof.Checkpoint, error) {
	opened, err := proof.Open(text, verifiers(keys))
	return opened.Checkpoint, err
}

// verifiers returns each key once, because a note rejects repeated keys.
func verifiers(keys []note.Verifier) note.Verifiers {
	seen := make(map[string]bool)
	var list []note.Verifier
	for _, key := range keys {
		if id := pack.KeyID(key.Name(), key.KeyHash()); !seen[id] {
			seen[id] = true
			list = append(list, key)
		}
	}
	return note.VerifierList(list...)
}
