package observe

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
)

// Proofs that a block holds an earlier answer.
const (
	ProofEqual     = "equal"     // the block is the answer
	ProofContained = "contained" // the block has at least 90 % of the answer's lines
)

// An answer that is shorter proves nothing: "ok" is everywhere.
const (
	minEqual     = 16 // bytes
	minContained = 80 // bytes
)

// newAnswer keeps the text of an answer as hashes. newAnswer returns false for an answer that
// proves nothing.
func newAnswer(call string, blocks []seen) (answer, bool) {
	text := textOf(blocks)
	if len(text) < minEqual {
		return answer{}, false
	}
	a := answer{Call: call, Sum: sum64(text)}
	if kept := withoutAnalysis(text); len(kept) >= minContained {
		a.Lines = linesOf(kept)
	}
	return a, true
}

func textOf(blocks []seen) []byte {
	var texts [][]byte
	for i := range blocks {
		if blocks[i].Layer == dialect.LayerAssistant {
			texts = append(texts, blocks[i].from.Text)
		}
	}
	return bytes.TrimSpace(bytes.Join(texts, []byte("\n")))
}

// withoutAnalysis drops the part of a summary that Claude Code does not put into the next
// window.
func withoutAnalysis(text []byte) []byte {
	before, rest, found := bytes.Cut(text, []byte("<analysis>"))
	if _, after, ok := bytes.Cut(rest, []byte("</analysis>")); found && ok {
		return append(bytes.Clone(before), after...)
	}
	return text
}

// linesOf returns the hashes of the lines that have text, each once. Lines that are a tag alone
// do not count, because clients replace them.
func linesOf(text []byte) hashes {
	list := make(hashes, 0, 64)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '<' && line[len(line)-1] == '>' {
			continue
		}
		line = strings.TrimSuffix(strings.TrimPrefix(line, "<summary>"), "</summary>")
		if list = append(list, sum64([]byte(line))); len(list) == maxLines {
			break
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// proves returns the proof that a text holds the answer, "" without one.
func (a *answer) proves(text []byte) string {
	if text = bytes.TrimSpace(text); len(text) < minEqual {
		return ""
	}
	if sum64(text) == a.Sum {
		return ProofEqual
	}
	if len(a.Lines) == 0 {
		return ""
	}
	found, in := 0, linesOf(text)
	for _, line := range a.Lines {
		if _, ok := slices.BinarySearch(in, line); ok {
			found++
		}
	}
	if 10*found >= 9*len(a.Lines) {
		return ProofContained
	}
	return ""
}

// summary is a block of a window that holds an earlier answer.
type summary struct {
	at     int // index of the block
	answer *answer
	proof  string
}

// summaryIn finds the first block of the messages that holds an answer of the thread. Blocks
// that the last window had are no summaries, nor are blocks of the model or of a response that the
// window continues.
func (t *thread) summaryIn(blocks []seen) (summary, bool) {
	const most = 8 // a summary is at the front
	had := make(map[uint64]bool, len(t.Blocks))
	for i := range t.Blocks {
		had[t.Blocks[i].Sum] = true
	}
	tried := 0
	for i := range blocks {
		b := &blocks[i]
		if b.from == nil || !b.InTurn || b.Role == "assistant" || b.Layer == dialect.LayerToolResults || !b.from.Readable() {
			continue
		}
		if tried++; tried > most {
			break
		}
		if had[b.Sum] {
			continue
		}
		for j := len(t.Answers) - 1; j >= 0; j-- {
			if proof := t.Answers[j].proves(b.from.Text); proof != "" {
				return summary{i, &t.Answers[j], proof}, true
			}
		}
	}
	return summary{}, false
}
