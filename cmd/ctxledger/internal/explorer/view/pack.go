package view

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
)

// PackPage is the page of an evidence pack for people. It has no script.
type PackPage struct {
	document.Account
	Style   template.CSS
	Policy  string
	Calls   []PackCall
	figures map[string]string
}

// PackCall is a window of a pack.
type PackCall struct {
	document.AccountWindow
	Call
	Index int
	Rows  []PackBlock
	More  int
}

// PackBlock is a listed block of a window.
type PackBlock struct {
	document.AccountBlock
	Index        int
	Class, Layer string
}

// WritePack writes index.html of an evidence pack.
func WritePack(w io.Writer, a document.Account) error {
	p := PackPage{Account: a, figures: make(map[string]string)}
	for _, f := range a.Figures() {
		p.figures[f.Name] = f.Value
	}
	for i, window := range a.Windows {
		p.Calls = append(p.Calls, packCall(i+1, len(a.Windows), window))
	}
	style := asset("explorer.css")
	p.Style, p.Policy = template.CSS(style), staticPolicy(style)
	if err := templates.ExecuteTemplate(w, "pack", &p); err != nil {
		return fmt.Errorf("write the page of the pack: %w", err)
	}
	return nil
}

// staticPolicy is the policy of a file without a script.
func staticPolicy(style string) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; base-uri 'none'; form-action 'none'", digest(style))
}

func packCall(number, of int, a document.AccountWindow) PackCall {
	w := windowview.Window{Turn: a.Turn, Call: a.Call, Billed: a.Billed}
	for i, b := range a.Blocks {
		w.Blocks = append(w.Blocks, windowview.Block{Position: int64(i), Layer: b.Layer, Role: b.Role, Title: b.What, Tokens: b.Tokens, Redaction: b.Redaction})
	}
	v := PackCall{AccountWindow: a, Index: number, Call: CallOf(river.Call{Number: number, Turn: a.Turn, Call: a.Call, At: a.At}, of, w, false, nil)}
	for i, b := range a.Listed() {
		v.Rows = append(v.Rows, PackBlock{b, i + 1, "l-" + string(river.LayerOf(b.Layer)), words(b.Layer)})
	}
	v.More = a.AllBlocks - len(v.Rows)
	return v
}

// Figure returns the element of a figure, which the verifier compares with the records. The name is
// the parts with dots between.
func (p *PackPage) Figure(parts ...any) (template.HTML, error) {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = fmt.Sprint(part)
	}
	name := strings.Join(words, ".")
	value, known := p.figures[name]
	if !known {
		return "", fmt.Errorf("the account has no figure %s", name)
	}
	shown := value
	switch {
	case value == document.Unknown:
		shown = "?"
	case isDigits(value):
		shown = grouped(value)
	}
	return template.HTML(fmt.Sprintf(`<data data-figure="%s" value="%s">%s</data>`, template.HTMLEscapeString(name), template.HTMLEscapeString(value), template.HTMLEscapeString(shown))), nil
}

func isDigits(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// grouped puts a narrow space between groups of three digits.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + thin + digits[i:]
	}
	return digits
}

// VerdictPage is the page of a verdict on a pack.
type VerdictPage struct {
	*verify.Report
	Style     template.CSS
	Policy    string
	Answers   []Answer
	Failed    bool
	Unchecked string // questions without an answer
}

// Answer is the answer to one question, in words.
type Answer struct {
	verify.Verdict
	Words string
	More  int64 // faults that are not listed
}

// questions are the questions of a verdict in words.
var questions = map[verify.Question]string{
	verify.Format:       "Can the pack be read, is it free of hostile content, and does it not contradict itself?",
	verify.Signature:    "Did the given key sign the list of files and the heads of the log?",
	verify.Files:        "Are all files as the signed list names them, byte for byte?",
	verify.Inclusion:    "Is every record in the signed log, with these bytes?",
	verify.Order:        "Are the records in the order of the log?",
	verify.Derivation:   "Do the documents and the figures of the page follow from the records?",
	verify.Schemas:      "Do the documents meet the public schemas?",
	verify.References:   "Does every reference in the pack have a target?",
	verify.Conservation: "Was every candidate selected, or left out with a reason?",
	verify.Completeness: "Does the pack have all facts of the scopes whose number of facts was sealed?",
	verify.Redaction:    "Is the pack free of values that a redaction withholds?",
}

// answersInWords are the answers of a verdict in words.
var answersInWords = map[verify.Status]string{verify.Passed: "yes", verify.Failed: "no", verify.NotChecked: "not checked", verify.Open: "open"}

// VerdictOf prepares the page of a verdict.
func VerdictOf(r *verify.Report) VerdictPage {
	style := asset("explorer.css")
	p := VerdictPage{Report: r, Style: template.CSS(style), Policy: staticPolicy(style), Failed: r.Failed()}
	var open []string
	for _, v := range r.Verdicts {
		p.Answers = append(p.Answers, Answer{v, questions[v.Question], v.Total - int64(len(v.Faults))})
		if v.Status == verify.Open || v.Status == verify.NotChecked {
			open = append(open, string(v.Question))
		}
	}
	p.Unchecked = strings.Join(open, ", ")
	return p
}

// WriteVerdict writes a verdict as one HTML file without a script.
func WriteVerdict(w io.Writer, r *verify.Report) error {
	if err := templates.ExecuteTemplate(w, "verdict", VerdictOf(r)); err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}
	return nil
}

// Reply returns the answer in words.
func (a Answer) Reply() string { return answersInWords[a.Status] }
