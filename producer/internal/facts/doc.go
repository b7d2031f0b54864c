// Package facts makes the facts of a model call from its plan, without effects: the
// selection in parts that an event can hold, the placements of the blocks, the use of
// the window by layer, and what calls that share a prompt cache know of each other.
package facts
