package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A zip describes each entry twice: in front of the entry, and in the directory at the end. Tools
// read only one of the two descriptions, and skip undescribed bytes. checkLayout makes sure that
// all tools read the same files. The required layout, from the first byte of the file to the last,
// is:
//
//	entry …  directory  [zip64 end  zip64 locator]  end
//
// Each entry begins at the end of the previous entry. Both descriptions are equal. There are no
// comments. Only times, permissions and extra fields remain unsigned. No extra field may name
// another file.

// The signatures and fixed lengths in bytes of a zip's records.
const (
	localSignature, localSize     = 0x04034b50, 30
	centralSignature, centralSize = 0x02014b50, 46
	endSignature, endSize         = 0x06054b50, 22
	end64Signature, end64Size     = 0x06064b50, 56
	locatorSignature, locatorSize = 0x07064b50, 20
	descriptorSignature           = 0x08074b50
)

// Ids of extra fields.
const (
	extraZip64       = 0x0001
	extraUnicodeName = 0x7075 // another name, preferred by some tools
)

// described is the flag of an entry with its sizes behind its bytes.
const described = 1 << 3

var little = binary.LittleEndian

// errLayout means a layout that tools can read in different ways.
var errLayout = errors.New("tools can read this zip in different ways")

func layoutError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errLayout, fmt.Sprintf(format, args...))
}

// zipEntry is an entry of the directory.
type zipEntry struct {
	name           []byte
	fixed          []byte // flags, method, time and date
	crc            uint32
	packed, size   uint64
	offset         uint64
	hasDescription bool
}

// checkLayout checks the layout of a zip of size bytes. The directory may have at most most bytes.
// The error is errLayout or a read error.
func checkLayout(from io.ReaderAt, size, most int64) error {
	count, begins, length, err := readZipEnd(from, uint64(size))
	if err != nil {
		return err
	}
	if length > uint64(most) {
		return layoutError("the directory has %d bytes", length)
	}
	directory := make([]byte, length)
	if _, err := from.ReadAt(directory, int64(begins)); err != nil {
		return err
	}
	var entries []zipEntry
	for len(directory) > 0 {
		var e zipEntry
		if e, directory, err = readCentral(directory); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if uint64(len(entries)) != count {
		return layoutError("%d entries in the directory, but its end record states %d", len(entries), count)
	}
	slices.SortStableFunc(entries, func(a, b zipEntry) int { return cmp.Compare(a.offset, b.offset) })
	at := uint64(0)
	for i := range entries {
		next := begins
		if i+1 < len(entries) {
			next = entries[i+1].offset
		}
		if entries[i].offset != at || next < at {
			return layoutError("%s begins at byte %d, but the part before it ends at byte %d", clip(string(entries[i].name)), entries[i].offset, at)
		}
		if err := checkLocal(from, &entries[i], next); err != nil {
			return err
		}
		at = next
	}
	if at != begins {
		return layoutError("the directory begins at byte %d, but the part before it ends at byte %d", begins, at)
	}
	return nil
}

// readZipEnd returns the number of entries and the place of the directory. The directory must end
// at the end record.
func readZipEnd(from io.ReaderAt, size uint64) (count, begins, length uint64, err error) {
	if size < endSize {
		return 0, 0, 0, layoutError("too short")
	}
	stop := size - endSize
	end, err := readRecord(from, stop, endSize, endSignature)
	if err != nil || little.Uint16(end[20:]) != 0 {
		return 0, 0, 0, layoutError("a comment, or bytes behind its end")
	}
	count, length, begins = uint64(little.Uint16(end[10:])), uint64(little.Uint32(end[12:])), uint64(little.Uint32(end[16:]))
	if little.Uint32(end[4:]) != 0 || uint64(little.Uint16(end[8:])) != count {
		return 0, 0, 0, layoutError("in several volumes")
	}
	if count == 1<<16-1 || length == 1<<32-1 || begins == 1<<32-1 {
		if stop < end64Size+locatorSize {
			return 0, 0, 0, layoutError("too short")
		}
		stop -= end64Size + locatorSize
		long, err := readRecord(from, stop, end64Size, end64Signature)
		if err != nil {
			return 0, 0, 0, err
		}
		locator, err := readRecord(from, stop+end64Size, locatorSize, locatorSignature)
		if err != nil {
			return 0, 0, 0, err
		}
		short := [3]uint64{count, length, begins}
		count, length, begins = little.Uint64(long[32:]), little.Uint64(long[40:]), little.Uint64(long[48:])
		switch {
		case little.Uint64(long[4:]) != end64Size-12 || little.Uint64(long[16:]) != 0 || little.Uint64(long[24:]) != count:
			return 0, 0, 0, layoutError("the zip64 end record is invalid")
		case little.Uint32(locator[4:]) != 0 || little.Uint64(locator[8:]) != stop || little.Uint32(locator[16:]) != 1:
			return 0, 0, 0, layoutError("the zip64 end record is not at the stated place")
		case short[0] != min(count, 1<<16-1) || short[1] != min(length, 1<<32-1) || short[2] != min(begins, 1<<32-1):
			return 0, 0, 0, layoutError("the two end records differ")
		}
	}
	if begins > stop || length != stop-begins {
		return 0, 0, 0, layoutError("the directory of %d bytes at byte %d does not end at byte %d, where the end record begins", length, begins, stop)
	}
	return count, begins, length, nil
}

// readRecord reads n bytes that begin with a signature.
func readRecord(from io.ReaderAt, at uint64, n int, signature uint32) ([]byte, error) {
	record := make([]byte, n)
	if _, err := from.ReadAt(record, int64(at)); err != nil {
		return nil, layoutError("the file ends within a record")
	}
	if little.Uint32(record) != signature {
		return nil, layoutError("byte %d does not begin the expected record", at)
	}
	return record, nil
}

// readCentral reads the first entry of the directory and returns the rest.
func readCentral(b []byte) (e zipEntry, rest []byte, err error) {
	if len(b) < centralSize || little.Uint32(b) != centralSignature {
		return e, nil, layoutError("the directory contains other bytes than entries")
	}
	name, extra, comment := int(little.Uint16(b[28:])), int(little.Uint16(b[30:])), int(little.Uint16(b[32:]))
	if len(b) < centralSize+name+extra+comment {
		return e, nil, layoutError("the directory ends within an entry")
	}
	e = zipEntry{
		name: b[centralSize:][:name], fixed: b[8:16], crc: little.Uint32(b[16:]), packed: uint64(little.Uint32(b[20:])), size: uint64(little.Uint32(b[24:])),
		offset: uint64(little.Uint32(b[42:])), hasDescription: little.Uint16(b[8:])&described != 0,
	}
	if comment > 0 || little.Uint16(b[34:]) != 0 {
		return e, nil, layoutError("%s has a comment or is in another volume", clip(string(e.name)))
	}
	if err := e.readExtra(b[centralSize+name:][:extra], &e.size, &e.packed, &e.offset); err != nil {
		return e, nil, err
	}
	return e, b[centralSize+name+extra:], nil
}

// readExtra reads the extra fields. The zip64 field holds the values that are too long for 32 bits,
// in this order.
func (e *zipEntry) readExtra(b []byte, values ...*uint64) error {
	bad := layoutError("the extra fields of %s are invalid", clip(string(e.name)))
	seen := false
	for len(b) > 0 {
		if len(b) < 4 || len(b)-4 < int(little.Uint16(b[2:])) {
			return bad
		}
		id, text := little.Uint16(b), b[4:][:little.Uint16(b[2:])]
		b = b[4+len(text):]
		if id == extraUnicodeName || id == extraZip64 && seen {
			return bad
		}
		if id != extraZip64 {
			continue
		}
		seen = true
		for _, v := range values {
			if *v == 1<<32-1 {
				if len(text) < 8 {
					return bad
				}
				*v, text = little.Uint64(text), text[8:]
			}
		}
		if len(text) > 0 {
			return bad
		}
	}
	return nil
}

// checkLocal compares the bytes around an entry's data, up to the next entry, with the directory.
func checkLocal(from io.ReaderAt, e *zipEntry, next uint64) error {
	differs := func(what string) error {
		return layoutError("%s has another %s in its directory", clip(string(e.name)), what)
	}
	head, err := readRecord(from, e.offset, localSize, localSignature)
	if err != nil {
		return err
	}
	name, extra := int(little.Uint16(head[26:])), int(little.Uint16(head[28:]))
	text := make([]byte, name+extra)
	if _, err := from.ReadAt(text, int64(e.offset)+localSize); err != nil {
		return layoutError("the file ends within a record")
	}
	switch {
	case !bytes.Equal(text[:name], e.name):
		return differs("name")
	case !bytes.Equal(head[6:14], e.fixed):
		return differs("method, time or flag")
	}
	crc, packed, size := little.Uint32(head[14:]), uint64(little.Uint32(head[18:])), uint64(little.Uint32(head[22:]))
	if err := e.readExtra(text[name:], &size, &packed); err != nil {
		return err
	}
	later := e.hasDescription && crc == 0 && packed == 0 && size == 0
	if !later && (crc != e.crc || packed != e.packed || size != e.size) {
		return differs("size or checksum")
	}
	ends := e.offset + localSize + uint64(len(text))
	if next < ends || next-ends < e.packed {
		return layoutError("%s overlaps the next part", clip(string(e.name)))
	}
	return e.checkDescription(from, ends+e.packed, next)
}

// checkDescription reads the bytes behind an entry's data. The flags decide whether checksum and
// sizes follow. Nothing else may follow.
func (e *zipEntry) checkDescription(from io.ReaderAt, at, next uint64) error {
	wrong := layoutError("there are unexpected bytes between %s and the next part", clip(string(e.name)))
	if !e.hasDescription {
		if at != next {
			return wrong
		}
		return nil
	}
	if next-at > 24 {
		return wrong
	}
	b := make([]byte, next-at)
	if _, err := from.ReadAt(b, int64(at)); err != nil {
		return wrong
	}
	if (len(b) == 16 || len(b) == 24) && little.Uint32(b) == descriptorSignature {
		b = b[4:]
	}
	switch {
	case len(b) == 12 && little.Uint32(b) == e.crc && uint64(little.Uint32(b[4:])) == e.packed && uint64(little.Uint32(b[8:])) == e.size:
		return nil
	case len(b) == 20 && little.Uint32(b) == e.crc && little.Uint64(b[4:]) == e.packed && little.Uint64(b[12:]) == e.size:
		return nil
	}
	return wrong
}
