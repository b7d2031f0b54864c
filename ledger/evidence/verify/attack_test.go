package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// attacks are changes to one file of a pack. They get the text of the file and a text that is like it:
// the same file of another pack. nil removes the file.
var attacks = map[string]func(text, other []byte) []byte{
	"removed":            func(_, _ []byte) []byte { return nil },
	"emptied":            func(_, _ []byte) []byte { return []byte{} },
	"of another pack":    func(_, other []byte) []byte { return other },
	"cut in half":        func(text, _ []byte) []byte { return text[:len(text)/2] },
	"without its end":    func(text, _ []byte) []byte { return text[:len(text)-1] },
	"with a line more":   func(text, _ []byte) []byte { return append(bytes.Clone(text), '\n') },
	"with an object":     func(text, _ []byte) []byte { return append(bytes.Clone(text), "{}\n"...) },
	"with a space":       func(text, _ []byte) []byte { return bytes.Replace(text, []byte(`":`), []byte(`": `), 1) },
	"with a mark":        func(text, _ []byte) []byte { return append([]byte("\ufeff"), text...) },
	"with other endings": func(text, _ []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) },
	"with a member more": func(text, _ []byte) []byte { return bytes.Replace(text, []byte(`{"`), []byte(`{"x":1,"`), 1) },
	"with a member twice": func(text, _ []byte) []byte {
		member, _, ok := bytes.Cut(text[bytes.IndexByte(text, '{')+1:], []byte(","))
		if !ok {
			return text
		}
		return bytes.Replace(text, member, append(append(bytes.Clone(member), ','), member...), 1)
	},
	"with a zero":            func(text, _ []byte) []byte { return bytes.Replace(text, []byte("1"), []byte("0"), 1) },
	"with another number":    func(text, _ []byte) []byte { return replaceLast(text, "2", "3") },
	"with another word":      func(text, _ []byte) []byte { return bytes.Replace(text, []byte("e"), []byte("E"), 1) },
	"with another last word": func(text, _ []byte) []byte { return replaceLast(text, "a", "b") },
	"of another session":     func(text, _ []byte) []byte { return bytes.ReplaceAll(text, []byte("s-1"), []byte("s-2")) },
	"of another tenant":      func(text, _ []byte) []byte { return bytes.ReplaceAll(text, []byte("acme"), []byte("emca")) },
	"without its first line": func(text, _ []byte) []byte { return withLines(text, func(l [][]byte) [][]byte { return l[1:] }) },
	"without a line": func(text, _ []byte) []byte {
		return withLines(text, func(l [][]byte) [][]byte { return slices.Delete(l, len(l)/2, len(l)/2+1) })
	},
	"without its last line": func(text, _ []byte) []byte { return withLines(text, func(l [][]byte) [][]byte { return l[:len(l)-1] }) },
	"with a line twice": func(text, _ []byte) []byte {
		return withLines(text, func(l [][]byte) [][]byte { return slices.Insert(l, len(l)/2, l[len(l)/2]) })
	},
	"with its lines reversed": func(text, _ []byte) []byte {
		return withLines(text, func(l [][]byte) [][]byte { slices.Reverse(l); return l })
	},
	"with two lines swapped": func(text, _ []byte) []byte {
		return withLines(text, func(l [][]byte) [][]byte {
			if len(l) > 1 {
				l[len(l)/2], l[len(l)/2-1] = l[len(l)/2-1], l[len(l)/2]
			}
			return l
		})
	},
}

func replaceLast(text []byte, old, new string) []byte {
	if i := bytes.LastIndex(text, []byte(old)); i >= 0 {
		return slices.Concat(text[:i], []byte(new), text[i+len(old):])
	}
	return text
}

func withLines(text []byte, change func([][]byte) [][]byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return bytes.Join(change(slices.Clone(lines)), nil)
}

// sign signs the files in the folder as they are, as a holder of the signing key can.
func (r *rig) sign() {
	r.t.Helper()
	var files []pack.File
	r.must(filepath.Walk(r.target, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.target, path)
		if err != nil || name == pack.ManifestFile || name == pack.AttestationFile {
			return err
		}
		sum := sha256.Sum256(r.read(name))
		files = append(files, pack.File{Path: filepath.ToSlash(name), Hash: pack.HashPrefix + hex.EncodeToString(sum[:]), Size: info.Size()})
		return nil
	}))
	manifest := document.Manifest(r.header, r.summary, files)
	attestation, err := pack.Attest(r.header, manifest, r.key.signer)
	r.must(err)
	r.replace(pack.ManifestFile, manifest)
	r.replace(pack.AttestationFile, attestation)
}

// TestAttacks: each change to each file is found and named, also where a holder of the signing key signs
// the changed files. If signed leaves contradict signed records, the fault is at the record and names the
// proof.
func TestAttacks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	r, other := small(t), sealed(t, filepath.Join(t.TempDir(), "other"), false, 20, 2)
	r.sign()
	hold(t, r.verify(), nil)
	found := map[bool]int{}
	originals := make(map[string][]byte)
	for _, file := range append(packFiles(t, r.target), pack.ManifestFile, pack.AttestationFile) {
		originals[file] = r.read(file)
	}
	for file, text := range originals {
		for name, attack := range attacks {
			like, _ := os.ReadFile(filepath.Join(other.target, file))
			var changed []byte
			if len(text) > 0 {
				changed = attack(text, like)
			}
			if bytes.Equal(changed, text) {
				continue
			}
			for _, signed := range []bool{false, true} {
				if signed && (file == pack.ManifestFile || file == pack.AttestationFile) {
					continue
				}
				if changed == nil {
					r.must(os.Remove(filepath.Join(r.target, file)))
				} else {
					r.replace(file, changed)
				}
				if signed {
					r.sign()
				}
				report := r.verify()
				for f, text := range originals {
					r.replace(f, text)
				}
				found[signed]++
				if !report.Failed() {
					t.Errorf("%s %s, signed %v: not found", file, name, signed)
				} else if text := faults(report); !strings.Contains(text, file) && (!signed || file != pack.LeavesFile(1) || !strings.Contains(text, pack.EventsFile)) {
					t.Errorf("%s %s, signed %v: not named\n%s", file, name, signed, text)
				}
			}
		}
	}
	if found[false] < 400 || found[true] < 400 {
		t.Errorf("only %d attacks on signed files, and %d that were signed", found[false], found[true])
	}
}
