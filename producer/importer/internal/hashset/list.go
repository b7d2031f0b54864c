package hashset

import "iter"

// listChunk is the number of elements in one chunk of a [List].
const listChunk = 1024

// List is a slice that grows without a copy. A list holds values for every record of a log. A
// growing slice of a million elements would be in memory twice. The zero value is empty.
type List[T any] struct {
	chunks [][]T // all chunks except the last are full
}

func (l *List[T]) Len() int {
	if len(l.chunks) == 0 {
		return 0
	}
	last := len(l.chunks) - 1
	return last*listChunk + len(l.chunks[last])
}

// At returns the element i, which must exist. The pointer is valid until the next Add.
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

// Forget frees the elements before n. The caller must not read them again. The last chunk stays,
// since the length is computed from it.
func (l *List[T]) Forget(n int) {
	for c := min(n/listChunk, len(l.chunks)-1) - 1; c >= 0 && l.chunks[c] != nil; c-- {
		l.chunks[c] = nil
	}
}

// All returns the elements in order, without the forgotten ones.
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

// Last returns the newest element, nil for an empty list.
func (l *List[T]) Last() *T {
	if n := l.Len(); n > 0 {
		return l.At(n - 1)
	}
	return nil
}
