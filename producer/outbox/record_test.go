package outbox

import (
	"reflect"
	"testing"
)

// FuzzDecodeBatch: a decoded batch is equal after it is encoded and decoded again. For any
// input the decoder does not panic, and its memory is proportional to the input.
func FuzzDecodeBatch(f *testing.F) {
	f.Add(encodeBatch(nil, messages("a", 3)))
	f.Add(encodeBatch(nil, messages("a", 1))[:40])
	f.Add(encodeBatch(nil, nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, record []byte) {
		list, ok := decodeBatch(record)
		if !ok {
			return
		}
		again, ok := decodeBatch(encodeBatch(nil, list))
		if !ok || !reflect.DeepEqual(list, again) {
			t.Errorf("%q decodes to %v, and that to %v", record, list, again)
		}
	})
}

func TestSeal(t *testing.T) {
	t.Parallel()
	key := []byte("key")
	value := sealNumber(key, 7)
	if n, ok := unsealNumber(key, value); !ok || n != 7 {
		t.Errorf("%d, %v", n, ok)
	}
	if _, ok := unsealNumber([]byte("other"), value); ok {
		t.Error("a value under another key was taken")
	}
	for i := range value {
		value[i] ^= 1
		if _, ok := unsealNumber(key, value); ok {
			t.Errorf("byte %d changed and nobody saw it", i)
		}
		value[i] ^= 1
	}
	for _, short := range [][]byte{nil, value[:3], value[:4], value[:11]} {
		if _, ok := unsealNumber(key, short); ok {
			t.Errorf("%d bytes were enough", len(short))
		}
	}
}
