package importer

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// complete returns the part of a growing log that consists of complete records, with its size. The
// part ends before a last line that is being written. It is empty for a document that is being
// written. A folder of events is returned as it is, see openFolder.
func complete(r io.ReadSeeker) (io.ReadSeeker, int64, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	head, err := model.ReadHead(r, model.SniffBytes)
	if err != nil {
		return nil, 0, err
	}
	at, ok := r.(io.ReaderAt)
	if !ok {
		return r, size, nil
	}
	begin := int64(0) // of the last record
	if !model.IsSpread(head) {
		if begin, err = lastLine(at, size); err != nil {
			return nil, 0, err
		}
	}
	if begin < size && cut(io.NewSectionReader(at, begin, size-begin)) {
		size = begin
	}
	return io.NewSectionReader(at, 0, size), size, nil
}

// lastLine returns the position of the last line, which is the end of a log that ends with a newline.
func lastLine(r io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 64<<10)
	for end := size; end > 0; {
		from := max(0, end-int64(len(block)))
		n, err := r.ReadAt(block[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// cut reports whether a text ends in the middle of a JSON value. Text that can never become a value
// is not cut.
func cut(r io.Reader) bool {
	return errors.Is(jsontext.NewDecoder(&markSkipper{r: r}, jsonscan.Streamed).SkipValue(), io.ErrUnexpectedEOF)
}

func isCut(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && (info.Size() == 0 || cut(f))
}
