package pack

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"hash/crc32"
	"maps"
	"os"
	"strings"
	"testing"
)

// readAll returns the contents of all files of a zip, or the error.
func readAll(t testing.TB, text []byte) (map[string]string, error) {
	t.Helper()
	file, err := os.CreateTemp("", "ctxledger-*.zip")
	if err != nil {
		t.Fatal(err)
	}
	path := file.Name()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	r, err := Open(path, DefaultLimits())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if faults := r.Faults(); len(faults) > 0 {
		return nil, faults[0]
	}
	files := make(map[string]string)
	for _, e := range r.Files() {
		content, err := r.ReadFile(e.Path)
		if err != nil {
			return nil, err
		}
		files[e.Path] = string(content)
	}
	return files, nil
}

// TestZipLayout: a zip that another tool could read differently is refused.
func TestZipLayout(t *testing.T) {
	t.Parallel()
	original, err := os.ReadFile(zipOf(t, zip.FileHeader{Name: "a.json", Comment: "first"}, zip.FileHeader{Name: "b.json", Comment: "second"}))
	if err != nil {
		t.Fatal(err)
	}
	if files, err := readAll(t, original); err != nil || files["a.json"] != "first" || files["b.json"] != "second" {
		t.Fatal(files, err)
	}
	central := bytes.Index(original, []byte("PK\x01\x02"))
	second := bytes.LastIndex(original, []byte("PK\x03\x04"))
	end := len(original) - endSize
	edit := func(at int, text string) []byte {
		return append(append(bytes.Clone(original[:at]), text...), original[at+len(text):]...)
	}
	insert := func(at int, text string) []byte {
		return append(append(bytes.Clone(original[:at]), text...), original[at:]...)
	}
	extra := bytes.Clone(original[:central])
	extra = append(extra, original[central:central+centralSize+6]...)
	little.PutUint16(extra[central+30:], 9)
	extra = append(append(extra, "\x75\x70\x05\x00\x01\x00\x00\x00\x00"...), original[central+centralSize+6:]...)
	little.PutUint32(extra[len(extra)-endSize+12:], little.Uint32(extra[len(extra)-endSize+12:])+9)
	overlapping := bytes.Clone(original)
	little.PutUint32(overlapping[bytes.LastIndex(original, []byte("PK\x01\x02"))+42:], 0)
	commented := append(bytes.Clone(original), "two"...)
	little.PutUint16(commented[end+20:], 3)
	doubled := append(bytes.Clone(original), original...)
	for what, test := range map[string]struct {
		text   []byte
		reason string
	}{
		"bytes in front":           {insert(0, "#!/bin/sh\n"), ""},
		"bytes behind":             {insert(len(original), "\n"), "bytes behind its end"},
		"a comment":                {commented, "a comment"},
		"a zip behind the zip":     {doubled, ""},
		"a zip between":            {insert(central, string(original[:second])), ""},
		"another name in front":    {edit(localSize, "c"), "another name"},
		"another name behind":      {edit(central+centralSize, "c"), "another name"},
		"another method in front":  {edit(8, "\x08"), "another method"},
		"another checksum behind":  {edit(central+16, "\x00"), ""},
		"another size in front":    {edit(22, "\x09"), "another size"},
		"two entries at one place": {overlapping, ""},
		"a name within the extras": {extra, "extra fields"},
		"fewer entries at its end": {edit(end+8, "\x01\x00\x01\x00"), ""},
	} {
		files, err := readAll(t, test.text)
		if err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %v, %v", what, files, err)
		}
	}
}

// TestZipHidesNothing: bytes behind the packed data are refused, because no tool would show them.
func TestZipHidesNothing(t *testing.T) {
	t.Parallel()
	const content = "what is shown"
	for hidden, ok := range map[string]bool{"": true, "what is not": false} {
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.BestCompression)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		packed.WriteString(hidden)
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		raw, err := z.CreateRaw(&zip.FileHeader{Name: "a", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE([]byte(content)), CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(content))})
		if err == nil {
			_, err = raw.Write(packed.Bytes())
		}
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		if files, err := readAll(t, out.Bytes()); (err == nil) != ok || ok && files["a"] != content {
			t.Errorf("with %q behind: %v, %v", hidden, files, err)
		}
	}
}

// TestZipFlips flips every byte outside of the files' content. A zip that is still readable has the
// same files. Only tool versions and permissions make no difference.
func TestZipFlips(t *testing.T) {
	t.Parallel()
	original, err := os.ReadFile(makePack(t, true))
	if err != nil {
		t.Fatal(err)
	}
	want, err := readAll(t, original)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(original), int64(len(original)))
	if err != nil {
		t.Fatal(err)
	}
	content := make([]bool, len(original))
	for _, f := range z.File {
		begins, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.CompressedSize64 {
			content[begins+int64(i)] = true
		}
	}
	silent := 0
	for at := range original {
		if content[at] {
			continue
		}
		changed := bytes.Clone(original)
		changed[at] ^= 1 << (at % 8)
		files, err := readAll(t, changed)
		if err != nil {
			continue
		}
		if silent++; !maps.Equal(files, want) || !meaningless(original, at) {
			t.Errorf("byte %d of %d is flipped, and nobody says so: %v", at, len(original), files)
		}
	}
	if silent == 0 {
		t.Error("no byte is without meaning: the test sees nothing")
	}
}

// meaningless reports whether a byte is unrelated to the files. These bytes are the versions of
// reader and writer, and the attributes.
func meaningless(text []byte, at int) bool {
	within := func(signature string, first, next int) bool {
		begins := bytes.LastIndex(text[:min(at+4, len(text))], []byte(signature))
		return begins >= 0 && at >= begins+first && at < begins+next
	}
	return within("PK\x03\x04", 4, 6) || within("PK\x01\x02", 4, 8) || within("PK\x01\x02", 36, 42)
}
