package outbox

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/ctxledger/ctxledger/schema"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumBytes = 4

// seal writes the checksum of key and payload at the start of value. The payload begins
// after the checksum.
func seal(key, value []byte) []byte {
	binary.BigEndian.PutUint32(value, checksum(key, value[sumBytes:]))
	return value
}

// unseal returns the payload of a value, or false if the value was not written under key.
func unseal(key, value []byte) ([]byte, bool) {
	if len(value) < sumBytes || binary.BigEndian.Uint32(value) != checksum(key, value[sumBytes:]) {
		return nil, false
	}
	return value[sumBytes:], true
}

func checksum(key, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, payload)
}

// numberKey returns a number as the key or the payload of a record.
func numberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func keyNumber(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

func sealText(key []byte, text string) []byte {
	return seal(key, append(make([]byte, sumBytes, sumBytes+len(text)), text...))
}

func sealNumber(key []byte, number uint64) []byte {
	return seal(key, binary.BigEndian.AppendUint64(make([]byte, sumBytes, sumBytes+8), number))
}

func unsealNumber(key, value []byte) (uint64, bool) {
	payload, ok := unseal(key, value)
	if !ok || len(payload) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(payload), true
}

// encodeBatch appends the record of messages to b. The headers have no fixed order.
func encodeBatch(b []byte, messages []schema.Message) []byte {
	b = binary.AppendUvarint(b, uint64(len(messages)))
	for _, m := range messages {
		b = appendText(b, m.Subject)
		fields := 0
		for _, values := range m.Header {
			fields += len(values)
		}
		b = binary.AppendUvarint(b, uint64(fields))
		for name, values := range m.Header {
			for _, value := range values {
				b = appendText(appendText(b, name), value)
			}
		}
		b = appendText(b, m.Data)
	}
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decodeBatch reverses encodeBatch. decodeBatch returns false for any other input. The
// messages share one copy of the record and do not refer to b.
func decodeBatch(b []byte) ([]schema.Message, bool) {
	r := reader{data: append([]byte(nil), b...)}
	r.text = string(r.data)
	messages := make([]schema.Message, r.count(3))
	for i := range messages {
		m := &messages[i]
		m.Subject = r.string()
		n := r.count(2)
		values := make([]string, n) // one allocation for all headers
		m.Header = make(map[string][]string, n)
		for j := range values {
			name := r.string()
			values[j] = r.string()
			if earlier := m.Header[name]; earlier != nil {
				m.Header[name] = append(earlier, values[j])
			} else {
				m.Header[name] = values[j : j+1 : j+1]
			}
		}
		m.Data = r.bytes()
	}
	return messages, !r.bad && r.at == len(r.data)
}

// countFacts returns the number of messages in a batch.
func countFacts(b []byte) int {
	n, _ := binary.Uvarint(b)
	return int(n)
}

// reader reads a record. After the first invalid field, all fields are empty.
type reader struct {
	data []byte
	text string // data
	at   int
	bad  bool
}

// next returns the start and the end of the next text.
func (r *reader) next() (from, to int) {
	length := r.number()
	if length > uint64(len(r.data)-r.at) {
		r.bad = true
		return 0, 0
	}
	from = r.at
	r.at += int(length)
	return from, r.at
}

func (r *reader) string() string {
	from, to := r.next()
	return r.text[from:to]
}

func (r *reader) bytes() []byte {
	from, to := r.next()
	return r.data[from:to:to]
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.data[r.at:])
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.at += size
	return n
}

// count returns a number of elements that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.number()
	if n > uint64((len(r.data)-r.at)/size) {
		r.bad = true
		return 0
	}
	return int(n)
}
