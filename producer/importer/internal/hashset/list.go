package hashset

import "iter"

// listChunk is how many elements of a [List] lie together.
const listChunk = 1024

// List is a slice that grows without being copied, for what there is of each
// record of a log: a slice of a million elements lies twice in memory while it
// grows. The zero value is empty.
type List[T any] struct {
	chunks [][]T // all but the last are full
}

func (l *List[T]) Len() int {
	if len(l.chunks) == 0 {
		return 0
	}
	last := len(l.chunks) - 1
	return last*listChunk + len(l.chunks[last])
}

// At is the element i, which must be there. The pointer is valid until the next
// add.
func (l *List[T]) At(i int) *T { return &l.chunks[i/listChunk][i%listChunk] }

func (l *List[T]) Add(v T) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == listChunk {
		l.chunks = append(l.chunks, nil)
		last++
	}
	if chunk := l.chunks[last]; last > 0 && chunk == nil {
		l.chunks[last] = make([]T, 0, listChunk)
	}
	l.chunks[last] = append(l.chunks[last], v)
}

// Cut keeps the first n elements.
func (l *List[T]) Cut(n int) {
	if n >= l.Len() {
		return
	}
	whole := (n + listChunk - 1) / listChunk
	l.chunks = l.chunks[:whole:whole]
	if whole > 0 {
		l.chunks[whole-1] = l.chunks[whole-1][:n-(whole-1)*listChunk]
	}
}

// Forget gives back elements before n, which are not asked for again. The last chunk
// stays, since it tells how many there are.
func (l *List[T]) Forget(n int) {
	for c := min(n/listChunk, len(l.chunks)-1) - 1; c >= 0 && l.chunks[c] != nil; c-- {
		l.chunks[c] = nil
	}
}

// All lists the elements in order, without those that are forgotten.
func (l *List[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for c, chunk := range l.chunks {
			for i := range chunk {
				if !yield(c*listChunk+i, &chunk[i]) {
					return
				}
			}
		}
	}
}

// Last is the newest element, nil for an empty list.
func (l *List[T]) Last() *T {
	if n := l.Len(); n > 0 {
		return l.At(n - 1)
	}
	return nil
}
