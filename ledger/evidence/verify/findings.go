package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// findings collects the results by question. Safe for concurrent use.
type findings struct {
	mu   sync.Mutex
	most int
	by   map[Question]*Verdict
	// broken are the files that cannot be read to their end. Altered packed data unpacks to
	// arbitrary bytes. For these files, each question names only the first wrong line.
	broken map[string]map[Question]Fault
}

func newFindings(most int) *findings {
	f := &findings{most: most, by: make(map[Question]*Verdict), broken: make(map[string]map[Question]Fault)}
	for _, q := range Questions() {
		f.by[q] = &Verdict{Question: q}
	}
	return f
}

// fault adds a fault, unless the same fault is already present. The name of a file can be any bytes.
func (f *findings) fault(q Question, at Fault) {
	for _, text := range []*string{&at.File, &at.Pointer, &at.Reason} {
		*text = strings.ToValidUTF8(*text, "\uFFFD")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if first, ok := f.broken[at.File]; ok && at.Line > 0 {
		if before, ok := first[q]; !ok || at.Line < before.Line {
			first[q] = at
		}
		return
	}
	f.count(q, at)
}

func (f *findings) count(q Question, at Fault) {
	v := f.by[q]
	if slices.Contains(v.Faults, at) {
		return
	}
	v.Total++
	if len(v.Faults) < f.most {
		v.Faults = append(v.Faults, at)
	}
}

// breaks marks a file with a format fault as not readable to its end.
func (f *findings) breaks(file string) {
	file = strings.ToValidUTF8(file, "\uFFFD")
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken[file] == nil {
		f.broken[file] = make(map[Question]Fault)
	}
}

// place adds the first line faults of broken files. The format fault moves to the line of the first
// of these line faults.
func (f *findings) place() {
	for _, file := range slices.Sorted(maps.Keys(f.broken)) {
		first := f.broken[file]
		var line int64
		for _, q := range Questions() {
			at, ok := first[q]
			if ok && (line == 0 || at.Line < line) {
				line = at.Line
			}
			if ok && q != Format {
				f.count(q, at)
			}
		}
		for i := range f.by[Format].Faults {
			if at := &f.by[Format].Faults[i]; at.File == file && line > 0 && (at.Line == 0 || line < at.Line) {
				at.Line = line
			}
		}
	}
	clear(f.broken)
}

// faultf adds a fault at a line of a file.
func (f *findings) faultf(q Question, file string, line int64, format string, args ...any) {
	f.fault(q, Fault{File: file, Line: line, Reason: fmt.Sprintf(format, args...)})
}

// settle sets the answer to a question, unless the question has a fault.
func (f *findings) settle(q Question, s Status, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[q].Status, f.by[q].Detail = s, fmt.Sprintf(format, args...)
}

// open turns the answer passed into open and extends its detail.
func (f *findings) open(q Question, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.by[q]; v.Status == Passed {
		v.Status, v.Detail = Open, v.Detail+"; "+fmt.Sprintf(format, args...)
	}
}

// note adds a note to an answer.
func (f *findings) note(q Question, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.by[q]; len(v.Notes) < f.most {
		v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
	}
}

// verdicts returns the answers. A fault overrides every other answer.
func (f *findings) verdicts() []Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.place()
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
