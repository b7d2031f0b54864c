package known

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

func TestPlacesHold(t *testing.T) {
	t.Parallel()
	one, other := uuid.New(), uuid.New()
	for _, c := range []struct {
		p    Place
		want bool
	}{{Place{one, 10}, true}, {Place{one, 11}, false}, {Place{other, 1}, false}, {Place{one, 0}, true}} {
		if got := c.p.Holds([]Place{{uuid.New(), 99}, {one, 10}}); got != c.want {
			t.Errorf("%v holds: %v", c.p, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	value, err := Source{At: Place{uuid.New(), 7}, Facts: 65, Sums: make([]byte, 2*sumBytes)}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{value, nil, []byte(`{}`), []byte(`{"facts":-1}`), []byte(`{"facts":9,"sums":""}`), []byte(`{"facts":9223372036854775807,"sums":""}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := Decode(value)
		if err != nil {
			return
		}
		stream := newStream()
		stream.memory["s"] = s
		var log []*schema.Event
		for i := range min(s.Facts+2, 300) {
			log = append(log, event("s", fmt.Sprint(i)))
		}
		if stream.imports(t, log); len(stream.stored) == 0 {
			t.Error("nothing was published")
		}
	})
}
