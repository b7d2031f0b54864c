// Package windowview shows context windows to a person: one drawn, with a bar by
// layer, its blocks in order and what is not in it; two compared, with what
// entered, left, moved or was shortened between them, and what that cost.
//
// Everything here is pure. Lines keep within the width that they are given, as
// far as numbers and ids allow.
package windowview

import (
	"cmp"
	"strings"
)

// Block is one part of a window as the model saw it.
type Block struct {
	Position  int64    `json:"position"` // 0 is first
	Layer     string   `json:"layer"`
	Role      string   `json:"role"`
	Title     string   `json:"title"`
	Tokens    *int64   `json:"tokens"`      // as sent; nil is unknown
	Full      *int64   `json:"tokens_full"` // before it was shortened; nil is unknown
	Elided    bool     `json:"elided"`
	ElidedBy  string   `json:"elided_by"`
	Level     string   `json:"elided_level"` // how much an elision left
	Stub      string   `json:"reload_ref"`   // where an elided item can be read again
	Shortened string   `json:"shortened"`    // how it was cut to fit the budget; empty if it was not
	Redaction string   `json:"redaction_state"`
	Policies  string   `json:"redacted_under"` // the policies, with commas between
	StandIn   string   `json:"replacement_ref"`
	New       *bool    `json:"is_new"` // since the call before; nil where none is known
	Items     []string `json:"item_refs"`
	Name      string   `json:"block"` // of the block, or of the function that was called
	Digest    string   `json:"digest"`
	Origin    string   `json:"origin"`
	Injected  *bool    `json:"injected"`
	Target    string   `json:"target"`
	Assembly  string   `json:"-"`
	Block     string   `json:"-"`                // its name in the assembly
	Persona   string   `json:"persona,omitzero"` // that the block gives; empty for none
	Content   string   `json:"content,omitzero"` // whether content that is recorded has its digest
}

// Omitted counts the candidates of a call that were left out for one reason.
type Omitted struct {
	Reason string `json:"reason"`
	Items  int64  `json:"items"`
}

// Window is what one model call had before it. A nil number is not known.
type Window struct {
	Session         string    `json:"session_id"`
	Turn            string    `json:"turn_id"`
	Call            string    `json:"call_id"`
	Previous        string    `json:"previous_call_id"` // of the lineage; empty where none is known
	PreviousTurn    string    `json:"previous_turn_id"` // the turn of that call
	Model           string    `json:"model"`
	AsOf            string    `json:"as_of,omitzero"`
	Max             *int64    `json:"max_tokens"`        // prompt and output
	Reserved        *int64    `json:"reserved_tokens"`   // kept free for the output
	Estimated       *int64    `json:"estimated_tokens"`  // of all blocks; nil where one is not known
	Billed          *int64    `json:"billed_tokens"`     // the prompt, as the provider billed it
	CacheRead       *int64    `json:"cache_read_tokens"` // of the billed
	Unattributed    *int64    `json:"unattributed"`      // billed − estimated
	OmittedItems    int64     `json:"omitted"`
	OmittedTokens   *int64    `json:"omitted_tokens"`  // of those whose size is known
	OmittedUnknown  int64     `json:"omitted_unknown"` // of those whose size is not
	OmissionReasons []Omitted `json:"omission_reasons"`
	Blocks          []Block   `json:"blocks"` // in order
}

// total adds up what the blocks hold, and counts those of unknown size.
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

// persona is the one in force: that of the last block that gives one.
func (w Window) persona() (name string) {
	for _, b := range w.Blocks {
		name = cmp.Or(b.Persona, name)
	}
	return name
}

// WithTotals returns the window with the numbers that follow from its blocks and the bill.
func WithTotals(w Window) Window {
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

// what names a block for a person.
func (b Block) what() string {
	for _, name := range []string{b.Title, strings.Join(b.Items, ", "), b.Name} {
		if name != "" {
			return name
		}
	}
	return b.Layer
}

// isRedacted reports whether anything of the block is withheld.
func (b Block) isRedacted() bool { return b.Redaction != "" && b.Redaction != "none" }
