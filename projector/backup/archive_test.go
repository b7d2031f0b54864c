package backup

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/jsm.go/api"
	"github.com/nats-io/nats.go"
)

// FuzzArchive: hostile archives give an error and no panic. A whole one is read as it was written.
func FuzzArchive(f *testing.F) {
	records := []record{
		{1, time.Unix(0, 1), "ctx.v1.a", headerText(nats.Header{"A": {"1", " 2"}, "b": {""}}), []byte("data")},
		{7, time.Unix(0, -7), "", nil, nil},
	}
	var whole bytes.Buffer
	err := encode(&whole, api.StreamState{FirstSeq: 1, LastSeq: 9, Deleted: []uint64{8}}, func(add func(record) error) error {
		return errors.Join(add(records[0]), add(records[1]))
	})
	if err != nil {
		f.Fatal(err)
	}
	for n := range whole.Len() + 1 {
		f.Add(whole.Bytes()[:n])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var state api.StreamState
		var found []record
		err := decode(bytes.NewReader(text), func(s api.StreamState) error {
			state = s
			return nil
		}, func(r record) error {
			found = append(found, r)
			return nil
		})
		if whole := bytes.Equal(text, whole.Bytes()); whole && err != nil {
			t.Error(err)
		} else if !whole && err != nil && !errors.Is(err, ErrChanged) {
			t.Errorf("damage gives %v", err)
		}
		if err != nil || !bytes.Equal(text, whole.Bytes()) {
			return
		}
		same := slices.EqualFunc(found, records, func(a, b record) bool {
			return a.sequence == b.sequence && a.at.Equal(b.at) && a.subject == b.subject && bytes.Equal(a.header, b.header) && bytes.Equal(a.data, b.data)
		})
		if !same || state.LastSeq != 9 || !slices.Equal(state.Deleted, []uint64{8}) {
			t.Errorf("read %+v of %+v", found, state)
		}
	})
}

// FuzzHeaderText: headers that a client has read are read as the same headers after a restore.
func FuzzHeaderText(f *testing.F) {
	for _, s := range []string{"NATS/1.0\r\n\r\n", "NATS/1.0\r\nA: 1\r\nA:  2 \r\nb:\r\n\r\n", "NATS/1.0 503 none\r\n\r\n", "NATS/1.0\r\nA: \r\r\n\tB : x:y\r\n\r\n", "NATS/1.0\nA:1\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, err := nats.DecodeHeadersMsg(text)
		if err != nil || len(want) == 0 {
			return
		}
		got, err := nats.DecodeHeadersMsg(headerText(want))
		if err != nil || !maps.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%q is read again as %q, %v, want %q", text, got, err, want)
		}
	})
}
