package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPartitionsAreAPowerOfTwo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Partitions{"": 1, "1": 1, "4": 4, "256": 256} {
		if n, err := ParsePartitions(text); err != nil || n != want {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"0", "-2", "3", "512", "four", "4 ", "1e2"} {
		if n, err := ParsePartitions(text); err == nil {
			t.Errorf("%q is taken for %v", text, n)
		}
	}
}

func TestOnePartitionIsTheStream(t *testing.T) {
	t.Parallel()
	s := Partitions(1).Stream(0)
	if s.Name != EventStream || !slices.Equal(s.Subjects, []string{AllSubjects}) || s.Metadata != nil {
		t.Errorf("%+v", s)
	}
	if n := Partitions(1).Of("whatever"); n != 0 {
		t.Error(n)
	}
}

// Each bucket is in exactly one stream, and that is the one its subjects name.
func TestPartitionsCoverTheBuckets(t *testing.T) {
	t.Parallel()
	for n := Partitions(1); n <= buckets; n *= 2 {
		taken := make(map[string]int)
		for i, s := range n.EventStreams() {
			for _, filter := range s.Subjects {
				taken[filter] = i
			}
		}
		for b := 0; n > 1 && b < buckets; b++ {
			filter := fmt.Sprintf("ctx.v1.*.*.p%02x.>", b)
			stream, ok := taken[filter]
			if got := n.Of(strings.NewReplacer("*", "a", ">", "item.added").Replace(filter)); !ok || got != stream {
				t.Fatalf("%d partitions: %s is in %d, routed to %d", n, filter, stream, got)
			}
			delete(taken, filter)
		}
		if n > 1 && len(taken) > 0 {
			t.Fatalf("%d partitions: more filters than buckets: %v", n, taken)
		}
	}
}

// Twice as many partitions split each in two: a bucket never moves elsewhere.
func TestPartitionsNest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := Partitions(1) << rapid.IntRange(0, 7).Draw(t, "log2")
		s := Subject{
			Tenant: rapid.String().Draw(t, "tenant"), Runtime: rapid.String().Draw(t, "runtime"),
			Bucket: Bucket(rapid.String().Draw(t, "session")), Object: "item", Verb: "added",
		}.String()
		if n.Of(s) != (2*n).Of(s)/2 {
			t.Fatalf("%s: %d of %d, %d of %d", s, n.Of(s), n, (2 * n).Of(s), 2*n)
		}
	})
}

func FuzzPartitionOfSubject(f *testing.F) {
	for _, s := range []string{"", "ctx.v1.a.b.p3f.item.added", "ctx.v1.a.b.zzz.item.added", "ctx.v1.a.b.p", "....p1ff.", "p80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		for n := Partitions(1); n <= buckets; n *= 2 {
			if i := n.Of(subject); i < 0 || i >= int(n) {
				t.Fatalf("%q: partition %d of %d", subject, i, n)
			}
		}
	})
}
