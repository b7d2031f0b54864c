// Package windowview draws context windows for people. One window is drawn with a bar by layer,
// its blocks in order, and its omitted items. Two windows are compared: the blocks that
// entered, left, moved or were shortened, and their cost.
//
// The package asks no server. Lines keep within the given width, except for long numbers and
// ids.
package windowview

import (
	"cmp"
	"strings"
)

// Block is one part of a window in the form that the model saw.
type Block struct {
	Position  int64    `json:"position"` // 0 is first
	Layer     string   `json:"layer"`
	Role      string   `json:"role"`
	Title     string   `json:"title"`
	Tokens    *int64   `json:"tokens"`      // as sent; nil if unknown
	Full      *int64   `json:"tokens_full"` // before it was shortened; nil if unknown
	Elided    bool     `json:"elided"`
	ElidedBy  string   `json:"elided_by"`
	Level     string   `json:"elided_level"` // the remaining form after an elision
	Stub      string   `json:"reload_ref"`   // the place from which an elided item can be read again
	Shortened string   `json:"shortened"`    // the way in which it was cut to fit the budget; empty if it was not
	Redaction string   `json:"redaction_state"`
	Policies  string   `json:"redacted_under"` // the policies, with commas between
	StandIn   string   `json:"replacement_ref"`
	New       *bool    `json:"is_new"` // since the call before; nil if that call is unknown
	Items     []string `json:"item_refs"`
	Name      string   `json:"block"` // the name of the block, or of the called function
	Digest    string   `json:"digest"`
	Origin    string   `json:"origin"`
	Injected  *bool    `json:"injected"`
	Target    string   `json:"target"`
	Assembly  string   `json:"-"`
	Block     string   `json:"-"`                  // its name in the assembly
	Persona   string   `json:"persona,omitzero"`   // the persona that the block sets; empty for none
	Content   string   `json:"content,omitzero"`   // whether recorded content has its digest
	Text      string   `json:"text,omitzero"`      // the stored text; empty if none is stored or was asked for
	TextOf    string   `json:"text_of,omitzero"`   // TextOfBlock or TextOfItem; empty without a text
	TextLack  string   `json:"text_lack,omitzero"` // why a stored text could not be read; empty if all were
}

const (
	TextOfBlock = "block" // the text is what the model saw
	TextOfItem  = "item"  // the text is that of the items; of an elided or shortened one the model saw less
)

// Omitted counts the candidates of a call that were left out for one reason.
type Omitted struct {
	Reason string `json:"reason"`
	Items  int64  `json:"items"`
}

// Window is the input of one model call. A nil number is unknown.
type Window struct {
	Session         string    `json:"session_id"`
	Turn            string    `json:"turn_id"`
	Call            string    `json:"call_id"`
	Previous        string    `json:"previous_call_id"` // in the lineage; empty if unknown
	PreviousTurn    string    `json:"previous_turn_id"` // the turn of that call
	Model           string    `json:"model"`
	AsOf            string    `json:"as_of,omitzero"`
	Max             *int64    `json:"max_tokens"`                 // prompt and output, or the model's largest prompt; nil if not known
	MaxSource       string    `json:"max_tokens_source,omitzero"` // list of limits that Max was read from; empty for a recorded limit
	Reserved        *int64    `json:"reserved_tokens"`            // kept free for the output
	Estimated       *int64    `json:"estimated_tokens"`           // of all blocks; nil if one is unknown
	Billed          *int64    `json:"billed_tokens"`              // the prompt, as the provider billed it
	CacheRead       *int64    `json:"cache_read_tokens"`          // part of the billed tokens
	Unattributed    *int64    `json:"unattributed"`               // billed − estimated
	Corrected       *int64    `json:"corrected_tokens"`           // the estimate, corrected by other bills of the session; nil if unknown
	CorrectedError  *float64  `json:"corrected_error"`            // (corrected − billed) / billed
	CorrectedBy     string    `json:"corrected_by,omitzero"`      // the call whose bill corrects the estimate
	OmittedItems    int64     `json:"omitted"`
	OmittedTokens   *int64    `json:"omitted_tokens"`  // of items with a known size
	OmittedUnknown  int64     `json:"omitted_unknown"` // items with an unknown size
	OmissionReasons []Omitted `json:"omission_reasons"`
	Bar             []Segment `json:"segments"` // of the bar: they add up to the bill, or to the estimate without one
	Blocks          []Block   `json:"blocks"`   // in order
}

// total returns the tokens of the blocks, and the number of blocks of unknown size.
func (w Window) total() (tokens int64, unknown int) {
	for _, b := range w.Blocks {
		if b.Tokens == nil {
			unknown++
			continue
		}
		tokens += *b.Tokens
	}
	return tokens, unknown
}

// persona returns the persona of the last block that sets one.
func (w Window) persona() (name string) {
	for _, b := range w.Blocks {
		name = cmp.Or(b.Persona, name)
	}
	return name
}

// WithTotals returns the window with the numbers that follow from its blocks and the bill.
func WithTotals(w Window) Window {
	w.Bar = w.Segments()
	tokens, unknown := w.total()
	if len(w.Blocks) == 0 || unknown > 0 {
		return w
	}
	w.Estimated = &tokens
	if w.Billed != nil {
		w.Unattributed = new(*w.Billed - tokens)
	}
	return w
}

// What returns a name of the block for people.
func (b Block) What() string {
	for _, name := range []string{b.Title, strings.Join(b.Items, ", "), b.Name} {
		if name != "" {
			return name
		}
	}
	return b.Layer
}

// isRedacted reports whether a part of the block is withheld.
func (b Block) isRedacted() bool { return b.Redaction != "" && b.Redaction != "none" }
