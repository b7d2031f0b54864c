package verify

import (
	"fmt"
	"slices"
	"sync"
)

// findings collects what is found for each question. Safe for concurrent use.
type findings struct {
	mu   sync.Mutex
	most int
	by   map[Question]*Verdict
}

func newFindings(most int) *findings {
	f := &findings{most: most, by: make(map[Question]*Verdict)}
	for _, q := range Questions() {
		f.by[q] = &Verdict{Question: q}
	}
	return f
}

// fault adds a fault; one that stands there already is the same.
func (f *findings) fault(q Question, at Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.by[q]
	if slices.Contains(v.Faults, at) {
		return
	}
	v.Total++
	if len(v.Faults) < f.most {
		v.Faults = append(v.Faults, at)
	}
}

// faultf adds a fault at a line of a file.
func (f *findings) faultf(q Question, file string, line int64, format string, args ...any) {
	f.fault(q, Fault{File: file, Line: line, Reason: fmt.Sprintf(format, args...)})
}

// settle gives a question its answer unless a fault does.
func (f *findings) settle(q Question, s Status, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[q].Status, f.by[q].Detail = s, fmt.Sprintf(format, args...)
}

// note tells something about an answer.
func (f *findings) note(q Question, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.by[q]; len(v.Notes) < f.most {
		v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
	}
}

// verdicts returns the answers. A fault outweighs everything else.
func (f *findings) verdicts() []Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []Verdict
	for _, q := range Questions() {
		v := f.by[q]
		if v.Total > 0 {
			v.Status = Failed
		}
		if v.Status == "" {
			v.Status = Passed
		}
		list = append(list, *v)
	}
	return list
}
