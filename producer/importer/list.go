package importer

import "iter"

// listChunk is how many elements of a [list] lie together.
const listChunk = 1024

// list is a slice that grows without being copied, for what there is of each
// record of a log: a slice of a million elements lies twice in memory while it
// grows. The zero value is empty.
type list[T any] struct {
	chunks [][]T // all but the last are full
}

func (l *list[T]) len() int {
	if len(l.chunks) == 0 {
		return 0
	}
	last := len(l.chunks) - 1
	return last*listChunk + len(l.chunks[last])
}

// at is the element i, which must be there. The pointer is valid until the next
// add.
func (l *list[T]) at(i int) *T { return &l.chunks[i/listChunk][i%listChunk] }

func (l *list[T]) add(v T) {
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

// cut keeps the first n elements.
func (l *list[T]) cut(n int) {
	if n >= l.len() {
		return
	}
	whole := (n + listChunk - 1) / listChunk
	l.chunks = l.chunks[:whole:whole]
	if whole > 0 {
		l.chunks[whole-1] = l.chunks[whole-1][:n-(whole-1)*listChunk]
	}
}

// forget gives back elements before n, which are not asked for again. The last chunk
// stays, since it tells how many there are.
func (l *list[T]) forget(n int) {
	for c := min(n/listChunk, len(l.chunks)-1) - 1; c >= 0 && l.chunks[c] != nil; c-- {
		l.chunks[c] = nil
	}
}

// all lists the elements in order, without those that are forgotten.
func (l *list[T]) all() iter.Seq2[int, *T] {
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

// last is the newest element, nil for an empty list.
func (l *list[T]) last() *T {
	if n := l.len(); n > 0 {
		return l.at(n - 1)
	}
	return nil
}
