package outbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// Layout of a bbolt page, in the machine's byte order.
const (
	pageHeader  = 16 // id 8, flags 2, count 2, overflow 4
	elementSize = 16 // of a branch: pos 4, key 4, page 8; of a leaf: flags 4, pos 4, key 4, value 4
	bucketSize  = 16 // root page 8, sequence 8; an inline page follows if root is 0

	branchPage, leafPage, freelistPage = 0x01, 0x02, 0x10
	bucketElement                      = 0x01
	manyFree                           = 0xFFFF // count value of a freelist with its real count in the first entry
)

// tree holds the fields of the current meta page.
type tree struct {
	pageSize             int64
	root, freelist, high uint64 // page numbers; every page is below high
}

// parseTree reads a meta page. Its fields, with their bytes: magic 4, version 4, page size
// 4, flags 4, root 8, sequence 8, freelist 8, high 8, transaction 8, FNV-1a of these. The
// page is smaller than a sector of any disk, so a crash does not leave a part of it. After
// a wrong checksum, bbolt would use the other meta page and lose the last transaction.
func parseTree(page []byte) (tree, error) {
	const summed = 56
	meta := page[pageHeader:]
	hash := fnv.New64a()
	hash.Write(meta[:summed])
	if hash.Sum64() != binary.NativeEndian.Uint64(meta[summed:]) {
		return tree{}, errors.New("a meta page has a wrong checksum")
	}
	number := func(at int) uint64 { return binary.NativeEndian.Uint64(meta[at:]) }
	return tree{pageSize: int64(len(page)), root: number(16), freelist: number(32), high: number(40)}, nil
}

// check walks the pages of a bbolt file in bbolt's way. bbolt would crash or loop on a
// damaged page. Each page is within the file and has its own number. No page is used twice,
// and every page is either in use or free. All entries are within their page, keys are in
// order, and a page begins with the key that its branch has. The check ignores the meaning
// of the values.
type check struct {
	file io.ReaderAt
	tree tree
	used []bool
}

func (t tree) check(file io.ReaderAt, size int64) error {
	if t.pageSize < 512 || t.high < 2 || int64(t.high) > size/t.pageSize {
		return errors.New("the file is shorter than its content")
	}
	c := check{file: file, tree: t, used: make([]bool, t.high)}
	c.used[0], c.used[1] = true, true // meta pages
	if err := c.below(t.root, span{}); err != nil {
		return err
	}
	return c.free()
}

// read returns a page with its overflow, once.
func (c *check) read(id uint64) ([]byte, error) {
	if id >= uint64(len(c.used)) {
		return nil, fmt.Errorf("page %d is beyond the end of the file", id)
	}
	page := make([]byte, pageHeader)
	if _, err := c.file.ReadAt(page, int64(id)*c.tree.pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	overflow := uint64(binary.NativeEndian.Uint32(page[12:]))
	if binary.NativeEndian.Uint64(page) != id || overflow >= uint64(len(c.used))-id {
		return nil, fmt.Errorf("page %d has the number of another page, or is beyond the end of the file", id)
	}
	for p := id; p <= id+overflow; p++ {
		if c.used[p] {
			return nil, fmt.Errorf("page %d is used twice", p)
		}
		c.used[p] = true
	}
	page = make([]byte, (int64(overflow)+1)*c.tree.pageSize)
	if _, err := c.file.ReadAt(page, int64(id)*c.tree.pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return page, nil
}

// span is the range of the keys below a branch: the first key is low, unless low is nil, and all
// are below high, unless high is nil. When bbolt writes a page, it looks for the entry of the
// page's first key in the branch. Without it, bbolt adds an entry, and the branch later leads to a
// page of another use, or to itself.
type span struct{ low, high []byte }

func (s span) begins(list []entry) bool {
	return s.low == nil || len(list) > 0 && bytes.Equal(list[0].key, s.low)
}

func (s span) holds(key []byte) bool { return s.high == nil || bytes.Compare(key, s.high) < 0 }

// below walks the pages below the page id, including the page.
func (c *check) below(id uint64, keys span) error {
	page, err := c.read(id)
	if err != nil {
		return err
	}
	return c.page(id, page, keys)
}

// page checks a branch or leaf page and the pages below it.
func (c *check) page(id uint64, page []byte, keys span) error {
	flags, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	switch {
	case flags != leafPage && flags != branchPage:
		return fmt.Errorf("page %d is neither a branch nor a leaf", id)
	case flags == branchPage && count == 0:
		return fmt.Errorf("page %d is a branch without entries", id)
	case pageHeader+count*elementSize > len(page):
		return fmt.Errorf("page %d has more entries than fit into it", id)
	}
	list := make([]entry, count)
	for i := range list {
		var ok bool
		if list[i], ok = parseEntry(flags, page[pageHeader+i*elementSize:]); !ok {
			return fmt.Errorf("entry %d of page %d is outside of the page", i, id)
		}
		if !keys.holds(list[i].key) || i > 0 && bytes.Compare(list[i-1].key, list[i].key) >= 0 {
			return fmt.Errorf("entry %d of page %d is out of order", i, id)
		}
	}
	if !keys.begins(list) {
		return fmt.Errorf("page %d does not begin with the key that its branch has", id)
	}
	for i, e := range list {
		var err error
		switch {
		case flags == branchPage && i+1 < count:
			err = c.below(e.child, span{e.key, list[i+1].key})
		case flags == branchPage:
			err = c.below(e.child, span{e.key, keys.high})
		case e.bucket:
			err = c.bucket(e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry is one entry of a page. An entry of a branch has a child, an entry of a leaf has a
// value.
type entry struct {
	key, value []byte
	child      uint64
	bucket     bool // the value is a bucket
}

// parseEntry reads an entry; rest is the page from the entry on.
func parseEntry(flags uint16, rest []byte) (entry, bool) {
	field := func(at int) int64 { return int64(binary.NativeEndian.Uint32(rest[at:])) }
	if flags == branchPage {
		pos, key := field(0), field(4)
		if pos+key > int64(len(rest)) {
			return entry{}, false
		}
		return entry{key: rest[pos : pos+key], child: binary.NativeEndian.Uint64(rest[8:])}, true
	}
	pos, key, value := field(4), field(8), field(12)
	if pos+key+value > int64(len(rest)) {
		return entry{}, false
	}
	return entry{key: rest[pos : pos+key], value: rest[pos+key : pos+key+value], bucket: field(0)&bucketElement != 0}, true
}

// bucket walks the pages below the value of a bucket.
func (c *check) bucket(value []byte) error {
	if len(value) < bucketSize {
		return errors.New("a bucket is incomplete")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return c.below(root, span{})
	}
	if value = value[bucketSize:]; len(value) < pageHeader || binary.NativeEndian.Uint16(value[8:]) != leafPage {
		return errors.New("a bucket is incomplete")
	}
	return c.page(0, value, span{})
}

// free checks the list of free pages. Each page is in use or free: another page was lost with its entries.
func (c *check) free() error {
	id := c.tree.freelist
	page, err := c.read(id)
	if err != nil {
		return err
	}
	if binary.NativeEndian.Uint16(page[8:]) != freelistPage {
		return fmt.Errorf("page %d is not a list of free pages", id)
	}
	list := page[pageHeader:]
	count := uint64(binary.NativeEndian.Uint16(page[10:]))
	if count == manyFree {
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list)/8) {
		return fmt.Errorf("page %d has more entries than fit into it", id)
	}
	for i := range count {
		free := binary.NativeEndian.Uint64(list[i*8:])
		if free >= uint64(len(c.used)) || c.used[free] {
			return fmt.Errorf("page %d is free, but it is in use or beyond the end of the file", free)
		}
		c.used[free] = true
	}
	if lost := slices.Index(c.used, false); lost >= 0 {
		return fmt.Errorf("page %d is neither in use nor free", lost)
	}
	return nil
}
