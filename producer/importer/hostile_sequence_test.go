package importer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/known"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// toldStream is a stream of events with the memory of imports, as the command has them.
type toldStream struct {
	toldCalls
	memory map[string]known.Source
}

func newToldStream() *toldStream {
	return &toldStream{toldCalls: toldCalls{facts: make(map[string][32]byte)}, memory: make(map[string]known.Source)}
}

// imports imports a log as the command does, and reports whether the log was told as rewritten.
func (s *toldStream) imports(t rapid.TB, format model.Format, name, text string, opts model.Options) (rewritten bool) {
	t.Helper()
	for corrected := make(map[string]bool); ; {
		var told []*schema.Event
		filter := known.NewFilter(func(first *schema.Event) known.Source { return s.memory[first.Source] }, func(e *schema.Event) error {
			told = append(told, e)
			return nil
		})
		filter.Corrected = corrected
		_, err := importer.Import(context.Background(), format, name, strings.NewReader(text), opts, filter.Emit)
		if err == nil {
			var added map[string]known.Source
			if added, err = filter.End(); err == nil {
				maps.Copy(s.memory, added)
				s.add(t, imported{events: told})
				return opts.Rewritten != "" && len(told) > 0
			}
		}
		var differs *known.Differs
		if !errors.As(err, &differs) {
			t.Fatal(err)
		}
		s.add(t, imported{events: told}) // facts of other sources were published
		comparison := differs.Compare()
		if _, err := importer.Import(context.Background(), format, name, strings.NewReader(text), opts, comparison.Emit); err != nil {
			t.Fatal(err)
		}
		if mark, other := comparison.Rewritten(); other && opts.Rewritten != mark {
			opts.Rewritten = mark
		} else {
			corrected[differs.Source] = true
		}
	}
}

// hostileLog is a log whose program keeps only a part of it. The program appends, cuts and rotates the
// log, and writes its first lines anew under the same ids.
type hostileLog struct {
	lines    []string
	from, to int
	anew     int // lines that were written anew
	edition  int // of these lines
}

// change draws the next change.
func (l *hostileLog) change(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "change") {
	case 0, 1:
		l.to = min(l.to+rapid.IntRange(1, 12).Draw(t, "grows"), len(l.lines))
	case 2:
		l.to = max(l.to-rapid.IntRange(1, 8).Draw(t, "cut"), l.from+1)
	case 3:
		l.from = min(l.from+rapid.IntRange(1, 12).Draw(t, "rotated"), l.to-1)
	case 4:
		l.anew, l.edition = l.from+(l.to-l.from)/2, l.edition+1
	}
}

// text returns the log. The last line may lack its end.
func (l *hostileLog) text(half bool) string {
	list := slices.Clone(l.lines[l.from:l.to])
	for i := range list {
		if l.from+i < l.anew {
			list[i] = strings.ReplaceAll(list[i], `"text `, fmt.Sprintf(`"edition %d `, l.edition))
		}
	}
	text := strings.Join(list, "\n")
	if half {
		return text[:len(text)-len(list[len(list)-1])/2]
	}
	return text + "\n"
}

// TestHostileSequences imports logs again and again while they grow, are cut, are rotated and are rewritten,
// also in the middle of a line and with clocks that run backwards. No fact has two forms for one id. Each
// call that any version had counts once, with what was billed.
func TestHostileSequences(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		format, name := model.FormatClaudeCode, "log.jsonl"
		l := hostileLog{lines: sliceLines(0, 40)}
		if rapid.Bool().Draw(t, "codex") {
			format, name = model.FormatCodex, rolloutName
			l.lines = rolloutLines(t)
		} else if rapid.Bool().Draw(t, "clock") {
			for i := range l.lines { // the clock is set back, then runs on
				l.lines[i] = strings.Replace(l.lines[i], fmt.Sprintf("T10:%02d:", i), fmt.Sprintf("T10:%02d:", (i+20)%40), 1)
			}
		}
		begun := 4
		if format == model.FormatCodex { // the first prompt decides who wrote the messages before it
			begun = slices.IndexFunc(l.lines, func(line string) bool { return strings.Contains(line, `"user_message"`) }) + 1
		}
		l.to = begun
		s, seen := newToldStream(), make(map[string]bool)
		for range rapid.IntRange(1, 8).Draw(t, "versions") {
			l.change(t)
			if l.from > 0 && l.from < begun {
				l.from = begun
				l.to = max(l.to, min(begun+1, len(l.lines)))
			}
			opts := testOptions()
			opts.Growing = rapid.Bool().Draw(t, "growing")
			half := rapid.IntRange(0, 4).Draw(t, "half") == 0
			s.imports(t, format, name, l.text(half), opts)
			if !opts.Growing && !half {
				for _, line := range l.lines[l.from:l.to] {
					seen[callOfLine(t, line)] = true
				}
			}
		}
		delete(seen, "")
		counted := s.counted()
		for id := range seen {
			if counted[id] != 1 {
				t.Errorf("the call %s counts %d times", id, counted[id])
			}
		}
		for id, n := range counted {
			if n > 1 {
				t.Errorf("the call %s counts %d times", id, n)
			}
		}
	})
}

// callOfLine names the call that a line bills: by the provider's id, or by the session's total after it.
func callOfLine(t rapid.TB, line string) string {
	t.Helper()
	var l struct {
		Message struct{ ID string }
		Payload struct {
			Info struct {
				Total map[string]any `json:"total_token_usage"`
			}
		}
	}
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatal(err)
	}
	if l.Payload.Info.Total == nil {
		return l.Message.ID
	}
	total, err := json.Marshal(l.Payload.Info.Total)
	if err != nil {
		t.Fatal(err)
	}
	return string(total)
}

// counted returns how often each billed call counts.
func (s *toldStream) counted() map[string]int {
	n, ids := make(map[string]int), make(map[string]bool)
	for i, other := range telling.Elsewhere(s.records) {
		r := s.records[i]
		if other >= 0 || ids[r.ID] || !r.Known {
			continue
		}
		if ids[r.ID] = true; r.Total != "" {
			n[r.Total]++
		} else {
			n[r.ID]++
		}
	}
	return n
}
